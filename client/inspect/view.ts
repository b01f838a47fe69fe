// What the API says about a kept exchange. Values of headers that may hold secrets are left out unless asked for.

import type {
  Exchange,
  ExchangeSummary,
  MessageView,
  ShownHeader,
  SignatureCheck,
  Timing,
} from '@underpass/rules/inspect/exchange.ts';
import { describeUserAgent } from '@underpass/rules/text/user-agent.ts';
import { formatUpstream } from '@underpass/rules/tunnel/upstream.ts';
import { viewBody } from './body-view.ts';
import { fieldOf, mediaTypeOf, type ReadHead, readHead } from './core/head.ts';
import { isSecretHeader } from './core/secret-header.ts';
import type { KeptExchange } from './exchange-log.ts';

/** Checks the signature of a webhook; null if the request has none. */
export type CheckSignature = (exchange: KeptExchange, head: ReadHead) => SignatureCheck | null;

export function summarize(exchange: KeptExchange, checkSignature: CheckSignature): ExchangeSummary {
  const head = readHead(exchange.requestHead);
  const [method, target] = head.startLine;
  const { id, state, kind, startedAtMs, tunnel, visitorAddress, error, replayOf } = exchange;
  return {
    ...{ id, state, kind, startedAtMs, tunnel, visitorAddress, error, replayOf },
    method,
    host: hostOf(head),
    target,
    status: statusOf(exchange),
    durationMs: known(exchange.endMs - exchange.startMs),
    requestBytes: exchange.request.bytes + exchange.upgradedBytes.request,
    responseBytes: exchange.response.bytes + exchange.upgradedBytes.response,
    mediaType: exchange.responseHead === '' ? '' : mediaTypeOf(fieldOf(readHead(exchange.responseHead), 'content-type')),
    visitorProgram: programOf(fieldOf(head, 'user-agent')),
    signature: checkSignature(exchange, head)?.outcome ?? null,
  };
}

/** The public name, also where the client sends another Host to the upstream. */
export const hostOf = (head: ReadHead): string => fieldOf(head, 'x-forwarded-host') ?? fieldOf(head, 'host') ?? '';

const programOf = (userAgent: string | undefined): string => (userAgent === undefined ? '' : describeUserAgent(userAgent));

function statusOf({ responseHead }: Pick<KeptExchange, 'responseHead'>): number | null {
  return responseHead === '' ? null : Number(responseHead.slice(9, 12));
}

export async function viewExchange(exchange: KeptExchange, checkSignature: CheckSignature, reveal: boolean): Promise<Exchange> {
  const summary = summarize(exchange, checkSignature);
  const head = readHead(exchange.requestHead);
  const answer = exchange.responseHead === '' ? null : readHead(exchange.responseHead);
  const request = await viewMessage(head, head.startLine[2], exchange.request, reveal);
  const response = answer && {
    ...(await viewMessage(answer, answer.startLine[0], exchange.response, reveal)),
    status: Number(answer.startLine[1]),
    reason: answer.startLine[2],
  };
  const { route, frames, droppedFrames, events, droppedEvents } = exchange;
  return {
    ...summary,
    upstream: formatUpstream(route.upstream),
    sentHost: route.sentHost ?? null,
    request,
    response,
    timing: timingOf(exchange),
    ...{ frames, droppedFrames, events, droppedEvents },
    signatureCheck: checkSignature(exchange, head),
  };
}

async function viewMessage(
  head: ReadHead,
  version: string,
  body: KeptExchange['request'],
  reveal: boolean,
): Promise<MessageView> {
  return { version, headers: shownHeaders(head, reveal), body: await viewBody(head, body) };
}

function shownHeaders({ headers }: ReadHead, reveal: boolean): readonly ShownHeader[] {
  return headers.map(([name, value]) => [name, reveal || !isSecretHeader(name) ? value : null]);
}

export function timingOf(exchange: KeptExchange): Timing {
  const { startMs, edgeMs, tunnelMs, connectMs, requestEndMs, responseStartMs, endMs } = exchange;
  // The connection's own time does not count: the request waits in the client until the upstream is connected.
  const sentMs = Math.max(requestEndMs, startMs + (Number.isNaN(connectMs) ? 0 : connectMs));
  return {
    edgeMs,
    tunnelMs: tunnelMs === null ? null : known(tunnelMs),
    connectMs: known(connectMs),
    sendMs: known(sentMs - startMs - connectMs),
    waitMs: known(Math.max(0, responseStartMs - sentMs)),
    receiveMs: known(endMs - responseStartMs),
  };
}

const known = (ms: number): number | null => (Number.isNaN(ms) ? null : Math.round(ms * 1_000) / 1_000);
