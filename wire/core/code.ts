// The codes on the wire: why a stream was reset, why a carrier ends, why an upgrade was refused.
// Numbers and names are part of the protocol: docs/protocol.md 9, Codes.

export const resetCodes = {
  /** The peer or its visitor went away, or a TCP reset arrived; passed on as a reset. */
  cancelled: 0,
  /** The stream was not accepted, and nothing reached the upstream: safe to try another client. */
  refused: 1,
  /** The peer has too many streams open or waiting; safe to try another client. */
  busy: 2,
  /** The client offers no upstream for this host or port. */
  'no-upstream': 3,
  'upstream-refused': 4,
  'upstream-timeout': 5,
  'upstream-unresolved': 6,
  /** TLS to the upstream failed: unknown CA, wrong name, no TLS there. */
  'upstream-tls': 7,
  'upstream-unreachable': 8,
  /** An established upstream connection broke. */
  'upstream-reset': 9,
  /** Cut by policy: allow-list, suspension, token rotation. */
  denied: 10,
  idle: 11,
  /** The hop led to an edge or worker that has no client. */
  'no-client': 12,
  internal: 13,
  /** The peer broke a rule that concerns only this stream. */
  protocol: 14,
  /** The carrier under the stream is lost. Sent on a hop alone, for the carrier behind it. */
  'carrier-lost': 15,
  /** The upstream speaks TLS, and the client sends it plain HTTP. */
  'upstream-speaks-tls': 16,
} as const;

export type ResetCode = keyof typeof resetCodes;

export const goawayCodes = {
  /** Graceful: nothing new is opened, open streams finish. */
  drain: 0,
  protocol: 1,
  'flow-control': 2,
  flood: 3,
  version: 4,
  /** Nothing arrived for too long. */
  silent: 5,
  internal: 6,
  /** The token was revoked or the tunnel deleted: do not dial with it again. */
  'token-refused': 7,
  'tunnel-suspended': 8,
  /** The same client has a newer carrier here. */
  duplicate: 9,
  'too-many-clients': 10,
} as const;

export type GoawayCode = keyof typeof goawayCodes;

/** How an edge refuses an upgrade: status and fixed public text. */
export const refusals = {
  'bad-request': { status: 400, reason: 'Bad Request', text: 'This is not a valid underpass upgrade request.' },
  'token-refused': { status: 401, reason: 'Unauthorized', text: 'The token is not valid for any tunnel of this region.' },
  'tunnel-suspended': { status: 403, reason: 'Forbidden', text: 'The tunnel is suspended.' },
  denied: { status: 403, reason: 'Forbidden', text: 'The security group of the tunnel does not allow this address.' },
  version: { status: 426, reason: 'Upgrade Required', text: 'No protocol version in common.' },
  'too-many-clients': { status: 429, reason: 'Too Many Requests', text: 'Too many clients are connected to this tunnel.' },
  unready: { status: 503, reason: 'Service Unavailable', text: 'The edge is not ready.' },
  draining: { status: 503, reason: 'Service Unavailable', text: 'The edge is draining; dial again.' },
} as const;

export type RefusalCode = keyof typeof refusals;

const nameByNumber = <Name extends string>(table: Readonly<Record<Name, number>>) =>
  new Map(Object.entries(table).map(([name, number]) => [number as number, name as Name]));

const resetNames = nameByNumber<ResetCode>(resetCodes);
const goawayNames = nameByNumber<GoawayCode>(goawayCodes);

/** An unknown number, from a newer peer, reads as `cancelled`: the stream is over in any case. */
export const resetCodeOf = (number: number): ResetCode => resetNames.get(number) ?? 'cancelled';

/** An unknown number, from a newer peer, reads as `drain`: the carrier ends in any case. */
export const goawayCodeOf = (number: number): GoawayCode => goawayNames.get(number) ?? 'drain';
