// What the inspector of a client says about the requests that it saw: the JSON of its API on loopback (docs/inspector.md).
// The client makes it, the inspector's page and `underpass inspect --json` show it. Times end in Ms; `atMs` counts from the
// start of the exchange, `startedAtMs` is a date.

/** A header as it stood on the wire, in its order. Null is a value that is hidden until it is revealed. */
export type ShownHeader = readonly [name: string, value: string | null];

export type ExchangeState = 'open' | 'done' | 'failed';

/** One row of the list. */
export interface ExchangeSummary {
  /** Rises from 1 while the client runs. */
  readonly id: number;
  readonly state: ExchangeState;
  /** What the bytes after the head are: bodies, server-sent events, or the frames of a WebSocket. */
  readonly kind: 'http' | 'events' | 'websocket';
  readonly startedAtMs: number;
  /** The tunnel's name. */
  readonly tunnel: string;
  readonly method: string;
  /** The public host that the visitor asked for. */
  readonly host: string;
  /** Path and query as sent. */
  readonly target: string;
  /** Null while there is no answer. */
  readonly status: number | null;
  /** Time from the first byte of the request to the end of the answer; null while it is open. */
  readonly durationMs: number | null;
  /** Bytes of the bodies as they passed, compressed if they are; of a WebSocket all bytes after the upgrade. */
  readonly requestBytes: number;
  readonly responseBytes: number;
  /** Media type of the answer without parameters, lower case; empty if it has none. */
  readonly mediaType: string;
  /** The visitor's address. Empty for a replay. */
  readonly visitorAddress: string;
  /** The visitor's program in a few words, from User-Agent: `Chrome on Linux`, `GitHub-Hookshot/0a1b2c3`. Empty if unknown. */
  readonly visitorProgram: string;
  readonly error: ExchangeError | null;
  /** The exchange that this one repeats. */
  readonly replayOf: number | null;
  readonly signature: SignatureOutcome | null;
}

export interface ExchangeError {
  /** A code of docs/cli.md, such as `upstream-refused`, or of the table in docs/inspector.md. */
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  /** What to do. */
  readonly fix: string;
}

export interface Exchange extends ExchangeSummary {
  /** Where the client sent the request: `http://127.0.0.1:3000`. */
  readonly upstream: string;
  /** The Host that the upstream got in place of the one in the headers; null if it got that one. */
  readonly sentHost: string | null;
  readonly request: MessageView;
  /** Null while there is no answer. */
  readonly response: (MessageView & { readonly status: number; readonly reason: string }) | null;
  readonly timing: Timing;
  /** Frames of a WebSocket, oldest first; the newest are kept. */
  readonly frames: readonly FrameView[];
  readonly droppedFrames: number;
  /** Events of an event stream, oldest first; the newest are kept. */
  readonly events: readonly EventView[];
  readonly droppedEvents: number;
  readonly signatureCheck: SignatureCheck | null;
}

export interface MessageView {
  /** `HTTP/1.1`. */
  readonly version: string;
  readonly headers: readonly ShownHeader[];
  readonly body: BodyView;
}

export type BodyShape = 'none' | 'json' | 'form' | 'multipart' | 'text' | 'image' | 'binary';

export interface BodyView {
  readonly shape: BodyShape;
  /** Media type without parameters; empty if unknown. */
  readonly mediaType: string;
  /** Bytes as they passed. */
  readonly bytes: number;
  /** The body was longer than what the inspector keeps of one body, so its end is missing. */
  readonly isCut: boolean;
  /** Content codings that the inspector has removed for this view: `gzip`, `br`. Empty if there were none. */
  readonly decoded: readonly string[];
  /** Why the codings were not removed; empty if they were. Then `text` is null. */
  readonly problem: string;
  /** The text of json, form and text. JSON is as sent: the page indents it. */
  readonly text: string | null;
  /** Fields of form and multipart. */
  readonly fields: readonly FormField[];
}

export interface FormField {
  readonly name: string;
  /** Null if the part is a file that is no text. */
  readonly value: string | null;
  /** The name of a file in a multipart form. */
  readonly fileName: string | null;
  readonly mediaType: string;
  readonly bytes: number;
}

/** Where the time went. Null is unknown. With `edgeMs`, the sum is the time from the request's whole head at the edge to the end of its answer there. */
export interface Timing {
  /** Time until the edge had a client for it: 0 on a connection that was open. Null until the edge says so. */
  readonly edgeMs: number | null;
  /** Time between edge and client, both ways, with what waits there. While `edgeMs` is null, the last measured round trip. */
  readonly tunnelMs: number | null;
  /** Time in the client, from the first byte of the request to the upstream's connection; 0 on one that was open. */
  readonly connectMs: number | null;
  /** Time until the last byte of the request, from the connection or, on one that was open, from its first byte. */
  readonly sendMs: number | null;
  /** Time from the last byte of the request to the first byte of the answer. 0 if the answer came earlier. */
  readonly waitMs: number | null;
  /** Time from the first to the last byte of the answer. */
  readonly receiveMs: number | null;
}

export interface FrameView {
  readonly atMs: number;
  readonly from: 'visitor' | 'upstream';
  /** A message in fragments is one entry. */
  readonly kind: 'text' | 'binary' | 'close' | 'ping' | 'pong';
  /** Payload after permessage-deflate. */
  readonly bytes: number;
  /** The text, or the reason of a close. Null if it is not text or could not be read. */
  readonly text: string | null;
  /** The first bytes of a binary payload. */
  readonly base64: string | null;
  readonly isCut: boolean;
  readonly closeCode: number | null;
}

export interface EventView {
  readonly atMs: number;
  /** `message` if the event names none. */
  readonly event: string;
  readonly lastEventId: string;
  readonly data: string;
  readonly isCut: boolean;
}

export type SignatureScheme = 'github' | 'stripe' | 'slack' | 'standard-webhooks';
/** `late`: the signature is right, but its time is outside the tolerance. `unchecked`: no secret, or the body is not whole. */
export type SignatureOutcome = 'valid' | 'invalid' | 'late' | 'unchecked';

export interface SignatureCheck {
  readonly scheme: SignatureScheme;
  readonly outcome: SignatureOutcome;
  /** One sentence. */
  readonly explanation: string;
}

export interface InspectState {
  readonly version: string;
  readonly tunnels: readonly InspectedTunnel[];
  readonly keptBytes: number;
  readonly maxBytes: number;
  /** Exchanges that are no longer in the list because of these limits. */
  readonly dropped: number;
}

export interface InspectedTunnel {
  readonly name: string;
  readonly urls: readonly string[];
  /** `shop.example.com=http://127.0.0.1:3000`, as on the command line. */
  readonly upstreams: readonly string[];
}

export interface ExchangeList {
  readonly state: InspectState;
  /** Oldest first. */
  readonly exchanges: readonly ExchangeSummary[];
}

/** One line of GET /api/events: `data: {…}`. */
export type InspectEvent =
  /** New or changed rows. */
  | { readonly kind: 'exchanges'; readonly exchanges: readonly ExchangeSummary[] }
  /** Exchanges that left the list: the oldest ones, or all after a clear. */
  | { readonly kind: 'removed'; readonly ids: readonly number[] }
  | { readonly kind: 'state'; readonly state: InspectState };

/** Body of POST /api/exchanges/ID/replay. What is missing stays as it was. */
export interface ReplayRequest {
  readonly method?: string;
  readonly target?: string;
  /** All headers of the new request. Null keeps the value of the original's header with this name and this occurrence. */
  readonly headers?: readonly ShownHeader[];
  readonly body?: { readonly text: string } | { readonly base64: string };
  /** Another address than the upstream: `http://HOST:PORT` or `https://HOST:PORT`. */
  readonly to?: string;
}

export interface ReplayStarted {
  /** The id of the new exchange. */
  readonly id: number;
}

/** GET /api/compare?left=ID&right=ID: what differs between two answers. */
export interface Comparison {
  readonly left: ExchangeSummary;
  readonly right: ExchangeSummary;
  /** Headers that differ, in order of their name; a missing one is an empty list, a hidden value is null. */
  readonly headers: readonly HeaderDifference[];
  /** Lines of the bodies as text, JSON indented. Null if one of them is no text. */
  readonly lines: readonly DiffLine[] | null;
  /** How many lines of each body were compared, if one has more. */
  readonly comparedLines: number | null;
  /** True if the bodies are the same byte for byte. */
  readonly hasSameBody: boolean;
}

export interface HeaderDifference {
  readonly name: string;
  readonly left: readonly (string | null)[];
  readonly right: readonly (string | null)[];
}

export interface DiffLine {
  readonly side: 'both' | 'left' | 'right';
  readonly text: string;
}

/**
 * GET /api/search?text=WORDS, or with `&ids=1,2` among these: which exchanges hold each word in what is shown of them, besides
 * their row. Hidden headers are not searched.
 */
export interface SearchResult {
  readonly found: readonly FoundWord[];
  /** False if the search took too long and left the oldest out. */
  readonly isWhole: boolean;
}

export interface FoundWord {
  /** The word in lower case. */
  readonly word: string;
  readonly ids: readonly number[];
}

/** Body of every answer with status 400 or above. */
export interface InspectRefusal {
  readonly error: { readonly code: InspectRefusalCode; readonly text: string };
}

export type InspectRefusalCode =
  | 'forbidden'
  | 'token-wrong'
  | 'not-found'
  | 'method-not-allowed'
  | 'invalid'
  | 'too-large'
  | 'body-incomplete'
  | 'busy';
