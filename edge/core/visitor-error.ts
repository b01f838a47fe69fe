// The errors that the edge answers itself: code, status and fixed text, without anything that the visitor sent.
// docs/errors.md explains each code; own-answer.ts renders it.

import type { ResetCode } from '@underpass/wire/core/code.ts';

interface Words {
  readonly status: number;
  readonly title: string;
  readonly text: string;
}

const table = {
  UNDERPASS_MAX_FORWARDS: { status: 200, title: 'Answer from the edge', text: 'Max-Forwards is 0, so the request ends here.' },
  UNDERPASS_BAD_REQUEST: { status: 400, title: 'Bad request', text: 'The request is not well-formed HTTP.' },
  UNDERPASS_PLAIN_HTTP: { status: 400, title: 'Plain HTTP on an HTTPS port', text: 'Use https:// for this address.' },
  UNDERPASS_SIGN_IN_REQUIRED: {
    status: 401,
    title: 'Sign-in required',
    text: 'The owner of this address asks visitors to sign in. Open it in a browser, or send a token.',
  },
  UNDERPASS_SOURCE_DENIED: {
    status: 403,
    title: 'Not allowed from here',
    text: 'The owner of this address does not allow visits from your network. Ask the owner to allow your address.',
  },
  UNDERPASS_VISIT_DENIED: {
    status: 403,
    title: 'No access',
    text: 'The owner of this address does not give you access to this page. Ask the owner if you need it.',
  },
  UNDERPASS_CALL_UNKNOWN: {
    status: 403,
    title: 'Call not named',
    text: 'The owner of this address allows MCP calls by name. Use a client that sends Mcp-Method and Mcp-Name (2026-07-28).',
  },
  UNDERPASS_VISIT_OTHER_ORIGIN: {
    status: 403,
    title: 'Request from another site',
    text: 'A page of another site sent this request with your session. Open this address itself, and try again there.',
  },
  UNDERPASS_TICKET_REFUSED: {
    status: 403,
    title: 'Sign-in not finished',
    text: 'The sign-in took too long, it began in another browser, or it was used before.',
  },
  UNDERPASS_SESSION_NOT_KEPT: {
    status: 403,
    title: 'Sign-in not kept',
    text: 'Your browser did not keep the sign-in. Allow cookies for this address, then try again.',
  },
  UNDERPASS_NO_SUCH_HOST: { status: 404, title: 'No such host', text: 'No tunnel serves this address. Check its spelling.' },
  UNDERPASS_NO_SUCH_PAGE: {
    status: 404,
    title: 'No such page',
    text: 'Paths below /.underpass/access/ are for signing in and out. This one does not exist.',
  },
  UNDERPASS_METHOD_NOT_ALLOWED: {
    status: 405,
    title: 'Method not allowed',
    text: 'This address does not accept CONNECT or TRACE.',
  },
  UNDERPASS_SLOW_REQUEST: { status: 408, title: 'Too slow', text: 'The request did not arrive in time.' },
  UNDERPASS_TARGET_TOO_LONG: { status: 414, title: 'Address too long', text: 'The request line is longer than 16 KiB.' },
  UNDERPASS_EXPECTATION: { status: 417, title: 'Expectation failed', text: 'The Expect header may only be "100-continue".' },
  UNDERPASS_MISDIRECTED: {
    status: 421,
    title: 'Misdirected request',
    text: 'This connection is for another host. Open a new one for this host.',
  },
  UNDERPASS_HEAD_TOO_LARGE: {
    status: 431,
    title: 'Headers too large',
    text: 'The head of the request is larger than 32 KiB or has more than 128 fields.',
  },
  UNDERPASS_UPSTREAM_REFUSED: {
    status: 502,
    title: 'Service refused the connection',
    text: 'The tunnel works, but nothing accepts connections at the address of the service.',
  },
  UNDERPASS_UPSTREAM_UNRESOLVED: {
    status: 502,
    title: 'Service not found',
    text: 'The tunnel works, but the host name of the service does not resolve.',
  },
  UNDERPASS_UPSTREAM_UNREACHABLE: {
    status: 502,
    title: 'Service unreachable',
    text: 'The tunnel works, but the network has no route to the service.',
  },
  UNDERPASS_UPSTREAM_TLS: {
    status: 502,
    title: 'Service not trusted',
    text: 'The tunnel works, but TLS to the service failed.',
  },
  UNDERPASS_UPSTREAM_SPEAKS_TLS: {
    status: 502,
    title: 'Service speaks TLS',
    text: 'The tunnel works, but its client sends plain HTTP to a service that speaks TLS.',
  },
  UNDERPASS_UPSTREAM_BROKE: {
    status: 502,
    title: 'Service disconnected',
    text: 'The service closed the connection before it answered.',
  },
  UNDERPASS_BAD_RESPONSE: { status: 502, title: 'Bad response', text: 'The service did not answer with well-formed HTTP.' },
  UNDERPASS_UPSTREAM_SPEAKS_HTTP2: {
    status: 502,
    title: 'Service speaks only HTTP/2',
    text: 'The tunnel works, but this service accepts only HTTP/2, as gRPC does. Its client must name it with h2c://.',
  },
  UNDERPASS_UPGRADE_REFUSED: {
    status: 502,
    title: 'WebSocket refused',
    text: 'The service refused this WebSocket without an HTTP answer. Its list of allowed origins may lack this address.',
  },
  UNDERPASS_NO_UPSTREAM: {
    status: 502,
    title: 'No service for this host',
    text: 'The tunnel is connected, but its client has no upstream for this host.',
  },
  UNDERPASS_CLIENT_LOST: {
    status: 502,
    title: 'Tunnel disconnected',
    text: 'The connection to the service was lost while it was answering.',
  },
  UNDERPASS_NO_CLIENT: {
    status: 503,
    title: 'Tunnel not connected',
    text: 'The tunnel exists, but no client is connected to it. Try again soon. If it is your tunnel, start its client.',
  },
  UNDERPASS_CUT_OFF: {
    status: 503,
    title: 'Service cut off',
    text: 'This part of the service cannot reach the tunnel at the moment. Try again: another part may reach it.',
  },
  UNDERPASS_BUSY: { status: 503, title: 'Too busy', text: 'The tunnel is at its limit. Try again soon.' },
  UNDERPASS_SUSPENDED: { status: 503, title: 'Tunnel suspended', text: 'This tunnel has been suspended.' },
  UNDERPASS_SIGN_IN_UNAVAILABLE: {
    status: 503,
    title: 'Sign-in not available',
    text: 'Signing in does not work at the moment. Try again soon. Visitors who have already signed in are not affected.',
  },
  UNDERPASS_UPSTREAM_TIMEOUT: { status: 504, title: 'Service too slow', text: 'The service did not answer in time.' },
  UNDERPASS_VERSION: {
    status: 505,
    title: 'HTTP version not supported',
    text: 'This address accepts HTTP/1.0, HTTP/1.1 and HTTP/2.',
  },
  UNDERPASS_LOOP: { status: 508, title: 'Loop detected', text: 'The tunnel leads back to itself.' },
} as const satisfies Readonly<Record<string, Words>>;

export type VisitorError = keyof typeof table;

export const visitorErrors: Readonly<Record<VisitorError, Words>> = table;

/** Why an upstream gives no response: its stream was reset, it ended (`broke`), or it answered, but not with HTTP/1.1. */
export type UpstreamFailure = ResetCode | 'hop-silent' | 'broke' | 'bad-response' | 'bad-upgrade' | 'speaks-http2';

const byFailure: Partial<Record<UpstreamFailure, VisitorError>> = {
  'bad-response': 'UNDERPASS_BAD_RESPONSE',
  'bad-upgrade': 'UNDERPASS_UPGRADE_REFUSED',
  'speaks-http2': 'UNDERPASS_UPSTREAM_SPEAKS_HTTP2',
  // A client whose upstream should speak HTTP/2 and does not.
  protocol: 'UNDERPASS_BAD_RESPONSE',
  busy: 'UNDERPASS_BUSY',
  'no-client': 'UNDERPASS_NO_CLIENT',
  refused: 'UNDERPASS_NO_CLIENT',
  'no-upstream': 'UNDERPASS_NO_UPSTREAM',
  'upstream-refused': 'UNDERPASS_UPSTREAM_REFUSED',
  'upstream-timeout': 'UNDERPASS_UPSTREAM_TIMEOUT',
  'upstream-unresolved': 'UNDERPASS_UPSTREAM_UNRESOLVED',
  'upstream-unreachable': 'UNDERPASS_UPSTREAM_UNREACHABLE',
  'upstream-tls': 'UNDERPASS_UPSTREAM_TLS',
  'upstream-speaks-tls': 'UNDERPASS_UPSTREAM_SPEAKS_TLS',
  'carrier-lost': 'UNDERPASS_CLIENT_LOST',
  'hop-silent': 'UNDERPASS_CUT_OFF',
  denied: 'UNDERPASS_SOURCE_DENIED',
};

/** Failures after which a request that may be repeated has one more try. */
export const retryOn: ReadonlySet<UpstreamFailure> = new Set<UpstreamFailure>(['broke', 'upstream-reset', 'carrier-lost']);

export function errorOfFailure(failure: UpstreamFailure): VisitorError {
  return byFailure[failure] ?? 'UNDERPASS_UPSTREAM_BROKE';
}

const byStatus: Readonly<Record<number, VisitorError>> = {
  405: 'UNDERPASS_METHOD_NOT_ALLOWED',
  414: 'UNDERPASS_TARGET_TOO_LONG',
  417: 'UNDERPASS_EXPECTATION',
  431: 'UNDERPASS_HEAD_TOO_LARGE',
  505: 'UNDERPASS_VERSION',
  508: 'UNDERPASS_LOOP',
};

/** The error for a head that the parser refused with this status. */
export function errorOfStatus(status: number): VisitorError {
  return byStatus[status] ?? 'UNDERPASS_BAD_REQUEST';
}
