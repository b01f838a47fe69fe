// Short messages in a corner of the screen, announced to screen readers (toast-area.tsx).

export interface Notice {
  readonly type: 'done' | 'failed';
  readonly title: string;
  readonly description: string | undefined;
}

export const toast = {
  done: (title: string, description?: string) => show({ type: 'done', title, description }),
  /** Stays longer, and screen readers announce it immediately. */
  failed: (title: string, description?: string) => show({ type: 'failed', title, description }),
};

/** Notices that wait for the list; it shows no more than some of them. */
const waiting: Notice[] = [];
const mostWaiting = 10;
let take: ((notice: Notice) => void) | undefined;
const listeners = new Set<() => void>();

function show(notice: Notice): void {
  if (take) take(notice);
  else if (waiting.length < mostWaiting) waiting.push(notice);
  for (const listener of listeners) listener();
}

/** The list takes what waits, and every later notice. */
export function takeNotices(taker: (notice: Notice) => void): () => void {
  take = taker;
  for (const notice of waiting.splice(0)) taker(notice);
  return () => {
    take = undefined;
  };
}

export const hasWaitingNotices = (): boolean => waiting.length > 0;

export function onNotice(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
