// The upgrade that turns a TLS connection into a carrier, a hop or a feed: what a request must say, and what answers mean.
// docs/protocol.md 1, Handshake.

import { type RefusalCode, refusals } from './code.ts';
import { type Head, listHolds, parseHead, renderHead } from './head.ts';

export interface UpgradeRequest {
  readonly path: string;
  /** The value of Upgrade in lower case: `underpass`, `underpass-reach`, `underpass-feed`. */
  readonly protocol: string;
  readonly token: string;
  /** All headers, names in lower case. A repeated name is a bad request. */
  readonly headers: ReadonlyMap<string, string>;
}

/** The path, protocol and headers of a carrier's upgrade. */
export const carrierPath = '/underpass';
export const carrierProtocol = 'underpass';
/** Random, and the same for every carrier of one client process: carriers with equal ids belong to one client. */
export const clientIdHeader = 'underpass-client-id';
/** The program and its version: `underpass/0.1.0`. */
export const softwareHeader = 'underpass-software';
/** The edge's id, in its 101. */
export const edgeHeader = 'underpass-edge';
/** The protocol of `underpass reach`, at the same path: one stream of a private tunnel, which the header names by its id. */
export const reachProtocol = 'underpass-reach';
export const tunnelHeader = 'underpass-tunnel';
const refusalHeader = 'underpass-refusal';

const clientIdPattern = /^[0-9a-f]{32}$/;
const softwarePattern = /^[!-~]{1,64}$/;

/** Null if the request is not a proper upgrade with a bearer token and without a body. */
export function parseUpgradeRequest(text: string): UpgradeRequest | null {
  const head = parseHead(text);
  if (head === null || head.start[0] !== 'GET' || head.start[2] !== 'HTTP/1.1') return null;
  const { headers } = head;
  const token = /^Bearer ([!-~]{1,512})$/i.exec(headers.get('authorization') ?? '')?.[1];
  const protocol = headers.get('upgrade')?.toLowerCase();
  const proper = headers.has('host') && listHolds(headers.get('connection'), 'upgrade');
  const bodied = headers.has('content-length') || headers.has('transfer-encoding');
  if (!proper || bodied || token === undefined || protocol === undefined || !/^[a-z-]{1,32}$/.test(protocol)) return null;
  return { path: head.start[1], protocol, token, headers };
}

interface ClientFacts {
  readonly clientId: string;
  readonly software: string;
}

/** Null if a carrier's request does not say which client it is. */
export function parseClientFacts(request: UpgradeRequest): ClientFacts | null {
  const clientId = request.headers.get(clientIdHeader) ?? '';
  const software = request.headers.get(softwareHeader) ?? '';
  return clientIdPattern.test(clientId) && softwarePattern.test(software) ? { clientId, software } : null;
}

export function renderUpgradeRequest(
  host: string,
  request: Omit<UpgradeRequest, 'headers'>,
  extra: Readonly<Record<string, string>>,
): string {
  return renderHead(`GET ${request.path} HTTP/1.1`, {
    Host: host,
    Connection: 'Upgrade',
    Upgrade: request.protocol,
    Authorization: `Bearer ${request.token}`,
    ...extra,
  });
}

export const renderAcceptance = (protocol: string, extra: Readonly<Record<string, string>>): string =>
  renderHead('HTTP/1.1 101 Switching Protocols', { Connection: 'Upgrade', Upgrade: protocol, ...extra });

export function renderRefusal(code: RefusalCode, retryAfterSeconds: number | undefined): string {
  const { status, reason, text } = refusals[code];
  const head = renderHead(`HTTP/1.1 ${status} ${reason}`, {
    [refusalHeader]: code,
    ...(retryAfterSeconds === undefined ? {} : { 'Retry-After': String(retryAfterSeconds) }),
    'Content-Type': 'text/plain',
    'Content-Length': String(text.length + 1),
    Connection: 'close',
  });
  return `${head}${text}\n`;
}

/** `not-underpass`: a web page, another service or a captive portal answered. */
export type AnswerCode = RefusalCode | 'not-underpass';

type UpgradeAnswer =
  | { readonly accepted: true; readonly headers: ReadonlyMap<string, string> }
  | { readonly accepted: false; readonly code: AnswerCode; readonly retryAfterSeconds: number | null };

export function parseUpgradeAnswer(text: string, protocol: string): UpgradeAnswer {
  const head = parseHead(text);
  if (head === null || head.start[0] !== 'HTTP/1.1') return { accepted: false, code: 'not-underpass', retryAfterSeconds: null };
  if (head.start[1] === '101' && isSwitch(head, protocol)) return { accepted: true, headers: head.headers };
  const seconds = /^[0-9]{1,5}$/.exec(head.headers.get('retry-after') ?? '')?.[0];
  return { accepted: false, code: refusalOf(head), retryAfterSeconds: seconds === undefined ? null : Number(seconds) };
}

const isSwitch = ({ headers }: Head, protocol: string): boolean =>
  headers.get('upgrade')?.toLowerCase() === protocol && listHolds(headers.get('connection'), 'upgrade');

function refusalOf(head: Head): AnswerCode {
  const code = head.headers.get(refusalHeader) ?? '';
  return Object.hasOwn(refusals, code) ? (code as RefusalCode) : 'not-underpass';
}
