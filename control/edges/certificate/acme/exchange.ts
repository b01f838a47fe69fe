// One HTTPS request to a certificate authority: bounded in time and size, with an extra root where one is given
// (the platform's fetch takes none).

import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { dayMs } from '@underpass/rules/limits.ts';
import { AcmeError } from './problem.ts';

/** A chain of ten certificates is 20 kB. */
const maxAnswerBytes = 256 * 1024;
const timeoutMs = 20_000;
/** The longest back-off: a longer Retry-After is cut to it. */
const longestWaitMs = dayMs;

interface ExchangeOptions {
  readonly method: 'GET' | 'HEAD' | 'POST';
  readonly url: string;
  readonly body?: string;
  readonly ca?: string;
  readonly signal: AbortSignal;
}

export interface AcmeAnswer {
  readonly status: number;
  readonly header: (name: string) => string | undefined;
  readonly text: string;
  readonly json: () => unknown;
  readonly retryAfterMs: number | undefined;
}

/** Seconds or a date (RFC 9110 10.2.3). */
function parseRetryAfter(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), longestWaitMs) : undefined;
}

async function readText(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) throw new Error(`an answer of more than ${maxAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function send(options: ExchangeOptions, signal: AbortSignal): Promise<IncomingMessage> {
  const { method, url, body, ca } = options;
  const secure = url.startsWith('https:');
  const headers = { 'user-agent': 'underpass', ...(body === undefined ? {} : { 'content-type': 'application/jose+json' }) };
  const tls = secure && ca !== undefined ? { ca } : {};
  return new Promise((resolve, reject) => {
    const request = (secure ? httpsRequest : httpRequest)(url, { method, headers, signal, ...tls });
    request.on('response', resolve).on('error', reject).end(body);
  });
}

export async function exchange(options: ExchangeOptions): Promise<AcmeAnswer> {
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(timeoutMs)]);
  try {
    const message = await send(options, signal);
    const text = await readText(message);
    const header = (name: string): string | undefined => {
      const value = message.headers[name];
      return Array.isArray(value) ? value[0] : value;
    };
    const retryAfterMs = parseRetryAfter(header('retry-after'), Date.now());
    return { status: message.statusCode ?? 0, header, text, json: () => parseJson(text), retryAfterMs };
  } catch (error) {
    throw new AcmeError('unreachable', error instanceof Error ? error.message : 'no answer');
  }
}
