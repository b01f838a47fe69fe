// The page to open after sign-in: a link that was opened without a session (an invitation, a device code), or the page on which the
// session ended. Kept in local storage, because the sign-in link opens in another tab. It expires, and only paths of this application count.

const storageKey = 'return-path';
const keptMs = 60 * 60 * 1000;

/** Location state that makes the sign-in page say that the session has ended. */
export const sessionEnded = 'session-ended';

interface KeptPath {
  readonly path: string;
  readonly untilMs: number;
  /** The user whose page it was. Without it the path is for any user. */
  readonly email?: string | undefined;
}

/** The path for this user; undefined if there is none, it expired, it is another user's, or it leads to another site. */
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
    localStorage.setItem(storageKey, JSON.stringify({ path, untilMs: Date.now() + keptMs, email } satisfies KeptPath));
  } catch {
    // Without storage the user opens the link again after signing in.
  }
}

/** The kept path, for a login link that may be opened in another browser. */
export function readReturnPath(email: string): string | undefined {
  try {
    return parseKeptPath(localStorage.getItem(storageKey), Date.now(), email);
  } catch {
    return undefined;
  }
}

/** Reads the path and removes it. */
export function takeReturnPath(email: string | undefined): string | undefined {
  const path = readReturnPath(email ?? '');
  try {
    localStorage.removeItem(storageKey);
  } catch {
    // Nothing is stored.
  }
  return path;
}
