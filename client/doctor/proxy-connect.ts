// Connects through an HTTP proxy with CONNECT, as the data path does, and reports the proxy's answer.
import { request as requestPlain } from 'node:http';
import { request as requestSecure } from 'node:https';
import type { Socket } from 'node:net';
import { lookUpForSocket } from '../carry/lookup.ts';
import type { HttpProxy } from '../carry/proxy.ts';

const timeoutMs = 5_000;

/** Resolves to the connection, or to the reason why there is none. */
export function connectThroughProxy(proxy: HttpProxy, host: string, port: number): Promise<Socket | string> {
  const target = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const headers = { host: target, ...(proxy.authorization === null ? {} : { 'proxy-authorization': proxy.authorization }) };
  const options = {
    method: 'CONNECT',
    host: proxy.host,
    port: proxy.port,
    path: target,
    headers,
    lookup: lookUpForSocket,
    agent: false,
    timeout: timeoutMs,
  };
  return new Promise((resolve) => {
    const request = (proxy.tls ? requestSecure : requestPlain)(options);
    request.once('connect', (response, socket) => {
      if (response.statusCode === 200) return resolve(socket as Socket);
      socket.destroy();
      resolve(`answers ${response.statusCode} to CONNECT`);
    });
    request.once('response', (response) => {
      response.destroy();
      resolve(`answers ${response.statusCode} to CONNECT`);
    });
    request.once('timeout', () => request.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)));
    request.once('error', (error) => resolve(error.message));
    request.end();
  });
}
