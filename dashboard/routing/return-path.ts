// Where to go after sign-in, for links that were opened without a session (an invitation, a waiting terminal) and for the page on
// which the session ended.
// Local storage, because the sign-in link opens in a tab of its own. Bounded in time, and only paths of this application.

const STORAGE_KEY = 'return-path';
const KEPT_MS = 60 * 60 * 1000;

/** Tells the sign-in page why it came unasked. */
export const sessionEnded = 'session-ended';

export interface KeptPath {
  readonly path: string;
  readonly untilMs: number;
  /** Whose page it was; without it the path is for whoever signs in. */
  readonly email?: string | undefined;
}

/** The path for this person to go to, or undefined where there is none, it is too old or another's, or it leads elsewhere. */
export function parseKeptPath(stored: string | null, nowMs: number, email: string | undefined): string | undefined {
  const kept = parseObject(stored);
  if (typeof kept?.path !== 'string' || typeof kept.untilMs !== 'number') return undefined;
  const isOurs = /^\/(?![/\\])/.test(kept.path);
  const isTheirs = kept.email === undefined || kept.email === email;
  return isOurs && isTheirs && nowMs < kept.untilMs ? kept.path : undefined;
}

function parseObject(stored: string | null): Partial<KeptPath> | undefined {
  try {
    return (JSON.parse(stored ?? 'null') as Partial<KeptPath> | null) ?? undefined;
  } catch {
    return undefined;
  }
}

export function keepReturnPath(path: string, email?: string): void {
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify({ path, untilMs: Date.now() + KEPT_MS, email } satisfies KeptPath));
  } catch {
    // Without storage the person opens the link again after signing in.
  }
}

/** Answers it once. */
export function takeReturnPath(email: string | undefined): string | undefined {
  try {
    const stored = localStorage.getItem(STORAGE_KEY);
    localStorage.removeItem(STORAGE_KEY);
    return parseKeptPath(stored, Date.now(), email);
  } catch {
    return undefined;
  }
}
