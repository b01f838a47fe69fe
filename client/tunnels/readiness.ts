// When a visitor's first request would succeed: a carrier is connected, its edge knows the addresses, and the edges of the region
// hold the route and its certificates. The upstream is not asked: it may start later than its tunnel.

import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { parseUrl } from '@underpass/rules/text/parse-url.ts';
import { CarryError, type ProblemCode, problems } from '../carry/problem.ts';
import { ClientError } from '../process/error.ts';
import { waitMs } from '../process/wait.ts';
import type { TunnelView } from '../terminal/live-status.ts';
import type { LogEvent } from '../terminal/log-line.ts';

export interface Readiness {
  /** The addresses that must work. If missing, those that the edge names. */
  readonly wanted?: readonly string[];
  /** True once every edge of the region holds the route and its certificates. Missing without an account: then the edge decides. */
  readonly isServed?: () => Promise<boolean>;
  /** The tunnel was made a moment ago, and an edge may not know its token yet. */
  readonly isNew?: boolean;
}

interface ReadyWatchOptions extends Readiness {
  readonly view: () => TunnelView | undefined;
  readonly onReady: (urls: readonly string[]) => void;
  /** The tunnel does not start: a person must act, or the time is over. Without it the watch goes on. */
  readonly onFailed?: ((error: ClientError) => void) | undefined;
  readonly startWithinMs?: number | undefined;
}

export interface ReadyWatch {
  readonly onEvent: (event: LogEvent) => void;
  readonly end: () => void;
}

const startMs = 30_000;
const [firstLookMs, longestLookMs] = [25, 1_000];
/** An edge sends at most this many addresses (docs/protocol.md, HELLO and INFO). */
const maxUrls = 16;

/** Problems that stay until a person acts. */
const lasting: ReadonlySet<string> = new Set<ProblemCode>([
  ...(['token-refused', 'tunnel-suspended', 'wrong-type', 'version', 'not-underpass'] as const),
  ...(['certificate-unknown', 'certificate-name', 'certificate-expired', 'proxy-refused'] as const),
]);

/** Pass every event of the tunnel to `onEvent`. Calls `onReady` or `onFailed` once. */
export function watchReady(options: ReadyWatchOptions): ReadyWatch {
  const { isNew = false, onReady, onFailed, startWithinMs = startMs } = options;
  const over = new AbortController();
  let lastProblem: ClientError | undefined;
  let isLooking = false;
  const fail = (error: ClientError): void => {
    if (over.signal.aborted) return;
    end();
    onFailed?.(error);
  };
  const late = () => fail(lastProblem ?? new ClientError('not-ready', `no answer within ${startWithinMs / 1000} s`));
  const timer = onFailed === undefined ? undefined : setTimeout(late, startWithinMs);
  const end = (): void => {
    clearTimeout(timer);
    over.abort();
  };
  const look = async (): Promise<void> => {
    isLooking = true;
    const urls = await whenReady(options, over.signal);
    isLooking = false;
    if (urls === undefined || over.signal.aborted) return;
    end();
    onReady(urls);
  };
  return {
    onEvent(event) {
      if (over.signal.aborted) return;
      if (event.event === 'connected' && !isLooking) void look();
      if (event.event !== 'problem' || event.code === undefined) return;
      lastProblem = explained(event.code, event.text ?? '');
      if (lasting.has(event.code) && !(isNew && event.code === 'token-refused')) fail(lastProblem);
    },
    end,
  };
}

/** The addresses; undefined once no carrier is connected, and at the abort. */
async function whenReady(options: ReadyWatchOptions, signal: AbortSignal): Promise<readonly string[] | undefined> {
  for (let pauseMs = firstLookMs; !signal.aborted; pauseMs = Math.min(2 * pauseMs, longestLookMs)) {
    const view = options.view();
    if (view?.state !== 'connected') return undefined;
    const urls = knownUrls(view.urls, options.wanted);
    // A server that does not answer now is asked again.
    if (urls !== undefined && (options.isServed === undefined || (await options.isServed().catch(() => false)))) return urls;
    await waitMs(pauseMs, signal);
  }
  return undefined;
}

/** The addresses that visitors may use, if the edge knows all that are wanted. */
function knownUrls(known: readonly string[], wanted: readonly string[] = known): readonly string[] | undefined {
  const hosts = new Set(known.map(hostOf));
  const areAll = known.length >= maxUrls || wanted.every((url) => hosts.has(hostOf(url)));
  return known.length > 0 && wanted.length > 0 && areAll ? wanted : undefined;
}

const hostOf = (url: string): string | undefined => parseUrl(url)?.hostname;

/** The event's text is `title: detail. fix`, and its fix may end with what a client does that goes on. */
function explained(code: string, text: string): ClientError {
  const { title, fix } = problems[code as ProblemCode];
  const cause = new CarryError(code as ProblemCode, text.slice(title.length, -fix.length).replace(/^: |\. $/g, ''));
  const first = fix.replace(/ ?(The client|This one) keeps trying\.$/, '');
  return new ClientError('not-ready', cause.message, { cause, ...(first === '' ? {} : { fix: first }) });
}

/** The addresses that visitors can reach. */
export const verifiedUrls = ({ ingressDomains }: Tunnel): readonly string[] =>
  ingressDomains.filter(({ verified }) => verified).map(({ url }) => url);

/** `Progressing` means: not on every edge yet. `find` asks again. */
export function isServed(tunnel: Tunnel, find: () => Promise<Tunnel | undefined>): () => Promise<boolean> {
  let status = tunnel.status;
  return async () => {
    if (status === 'Progressing') status = (await find())?.status ?? status;
    return status !== 'Progressing';
  };
}
