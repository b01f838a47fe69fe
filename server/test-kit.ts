// A server in this process for tests, on free ports, with a browser with a cookie, a client of a tunnel and its visitor.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import type { Session } from '@underpass/wire/api.ts';
import { carrierPath, carrierProtocol, clientIdHeader, softwareHeader } from '@underpass/wire/core/upgrade.ts';
import { requestUpgrade } from '@underpass/wire/handshake.ts';
import { createSession } from '@underpass/wire/session/session.ts';
import { createLog } from './process/log.ts';
import { type Running, startServer } from './serve/start.ts';
import { type Environment, readSettings, type Settings } from './settings/settings.ts';

export const makeHome = (): Promise<string> => mkdtemp(join(tmpdir(), 'underpass-server-'));
export const dropHome = (home: string): Promise<void> => rm(home, { recursive: true, force: true });

const freePorts = { UNDERPASS_PORT: '0', UNDERPASS_EDGE_HTTPS_PORT: '0', UNDERPASS_EDGE_HTTP_PORT: '0' };

export function testSettings(home: string, env: Environment = {}): Settings {
  const all = { UNDERPASS_HOME: home, UNDERPASS_LOG: process.env.SERVER_TEST_LOG ?? 'silent', ...freePorts, ...env };
  const result = readSettings(all, () => '');
  assert.ok(result.ok, result.ok ? '' : result.problems.join('\n'));
  return result.settings;
}

export interface TestServer {
  readonly settings: Settings;
  readonly running: Running;
  readonly origin: string;
  readonly url: (path: string) => string;
}

export async function openServer(home: string, env: Environment = {}): Promise<TestServer> {
  const settings = testSettings(home, env);
  const running = await startServer(settings, createLog(settings.log));
  const url = (path: string): string => `http://127.0.0.1:${running.ports.control}${path}`;
  return { settings, running, origin: settings.origin, url };
}

export interface Browser {
  readonly cookie: string;
  send(method: string, path: string, body?: object): Promise<Response>;
  read<T>(path: string): Promise<T>;
}

/** Signs in with the link that the first start printed. */
export async function signIn(server: TestServer): Promise<Browser> {
  const token = /\/magiclink\/(\S+)/.exec(server.running.text)?.[1] ?? '';
  const headers = { origin: server.origin };
  const answer = await fetch(server.url('/auth/login'), { method: 'POST', headers, body: new URLSearchParams({ token }) });
  assert.equal(answer.ok, true, await answer.text());
  const cookie = answer.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  return browserAt(server, cookie);
}

/** The same session at this server. */
export function browserAt(server: TestServer, cookie: string): Browser {
  const send = (method: string, path: string, body?: object): Promise<Response> =>
    fetch(server.url(path), {
      method,
      headers: { origin: server.origin, cookie, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return {
    cookie,
    send,
    read: async <T>(path: string) => {
      const read = await send('GET', path);
      assert.equal(read.status, 200, `${path}: ${read.status}`);
      return (await read.json()) as T;
    },
  };
}

export interface TestClient {
  readonly session: Session;
  close(): void;
}

/** A client of the tunnel that answers every request with this text. */
export async function carry(
  port: number,
  ca: string,
  tunnel: Pick<Tunnel, 'dataPlaneHost' | 'token'>,
  text: string,
): Promise<TestClient> {
  const socket = connect({ host: '127.0.0.1', port, ca, servername: tunnel.dataPlaneHost });
  await once(socket, 'secureConnect');
  await requestUpgrade(socket, {
    host: tunnel.dataPlaneHost,
    path: carrierPath,
    protocol: carrierProtocol,
    token: tunnel.token ?? '',
    headers: { [clientIdHeader]: randomBytes(16).toString('hex'), [softwareHeader]: 'test/0.0.0' },
    timeoutMs: 60_000,
  });
  const session = createSession(socket, { side: 'dialer', peerMayOpen: true, info: {} });
  session.onStream = (stream) => {
    stream.accept();
    stream.onData = (chunk) => {
      stream.consume(chunk.length);
      stream.write(Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`));
    };
  };
  // The real client waits for the same: it counts as connected once the edge has answered.
  await new Promise<unknown>((resolve) => (session.onProof = resolve));
  return { session, close: () => socket.destroy() };
}

/** The body that a visitor gets, or the TLS error's code. */
export async function visit(port: number, ca: string, host: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, ca, servername: host, ALPNProtocols: ['http/1.1'] });
  try {
    await once(socket, 'secureConnect');
    socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    let answer = '';
    for await (const chunk of socket) answer += chunk;
    return answer.split('\r\n\r\n')[1] ?? '';
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  } finally {
    socket.destroy();
  }
}

/** A change applies within this time, well before control reads everything again (20 s). An idle machine needs some 50 ms. */
export const appliedMs = 15_000;
