// fetch for the calls to the server, over node:http. The global one takes neither a CA nor a proxy without changing settings of the
// whole process, which belongs to somebody else.

import { type IncomingMessage, request as requestPlain } from 'node:http';
import { type RequestOptions, request as requestTls } from 'node:https';
import { connect as connectTls } from 'node:tls';
import { withoutBrackets } from '@underpass/rules/address/address.ts';
import { serverNameOf } from '../carry/lookup.ts';
import { connectThroughProxy, proxyFor } from '../carry/proxy-connect.ts';
import { authoritiesWith } from '../process/authorities.ts';
import { gather } from '../process/bounded-file.ts';
import type { Io } from '../process/io.ts';

/** The largest answer that the caller reads. */
const maxAnswerBytes = 16 * 1024 * 1024;
const noBody: ReadonlySet<number> = new Set([204, 205, 304]);

export function createFetch(env: Io['env']): Pick<Io, 'fetch' | 'trust'> {
  let ca: string[] | undefined;
  return {
    async fetch(input, init = {}) {
      const url = new URL(input instanceof Request ? input.url : input);
      const signal = init.signal ?? new AbortController().signal;
      const answer = await send(url, init, signal, await connectionTo(url, env, ca, signal));
      return toResponse(answer);
    },
    trust(caPem) {
      ca = authoritiesWith(caPem);
    },
  };
}

/** How to connect: through the proxy, if one is set for this host. */
async function connectionTo(url: URL, env: Io['env'], ca: string[] | undefined, signal: AbortSignal): Promise<RequestOptions> {
  const trust = ca === undefined ? {} : { ca };
  if (url.protocol !== 'https:') return {};
  const target = { host: withoutBrackets(url.hostname), port: Number(url.port || 443) };
  const proxy = proxyFor(env, target.host, target.port);
  if (proxy === null) return trust;
  const socket = await connectThroughProxy(proxy, target, signal);
  return { createConnection: () => connectTls({ socket, host: target.host, ...serverNameOf(target.host), ...trust }) };
}

function send(url: URL, init: RequestInit, signal: AbortSignal, connection: RequestOptions): Promise<IncomingMessage> {
  const request = url.protocol === 'https:' ? requestTls : requestPlain;
  const { method = 'GET', body } = init;
  const headers = Object.fromEntries(new Headers(init.headers));
  return new Promise((resolve, reject) => {
    // Without an agent the connection ends with the answer, so that it does not keep the process alive.
    const sent = request(url, { method, headers, signal, agent: false, ...connection }, resolve);
    sent.once('error', (error) => reject(signal.aborted ? signal.reason : error));
    sent.end(body ?? undefined);
  });
}

async function toResponse(answer: IncomingMessage): Promise<Response> {
  const status = answer.statusCode ?? 0;
  if (status >= 300 && status < 400) throw new Error('the answer is a redirect');
  const bytes = await gather(answer, maxAnswerBytes);
  if (bytes === null) throw new Error(`the answer is larger than ${maxAnswerBytes} bytes`);
  const headers = new Headers();
  for (const [name, values] of Object.entries(answer.headersDistinct))
    for (const value of values ?? []) headers.append(name, value);
  return new Response(noBody.has(status) ? null : bytes, { status, headers });
}
