// Keeps what the parts of a page have asked for, by name: those who ask at the same time share one request, and the last answer shows
// until the next one arrives, after Back too. A loader asks ahead, so that no part waits for the page around it. Knows no React.
import { type AnswerOf, type Call, type InputOf, urlOf } from '@underpass/rules/api/call.ts';
import { onForget } from './forget.ts';
import { type CallOptions, callApi } from './request.ts';

export interface Ask<T> {
  /** Names the answer: it contains everything that the fetch depends on. */
  readonly key: string;
  readonly fetch: (signal: AbortSignal) => Promise<T>;
}

/** A GET call, named by its address. */
export const askFor = <Row extends Call>(row: Row, input: InputOf<Row>, options: CallOptions = {}): Ask<AnswerOf<Row>> => ({
  key: urlOf(row, input),
  fetch: (signal) => callApi(row, input, { ...options, signal }),
});

export interface Answer<T> {
  /** undefined until the first answer. */
  readonly data: T | undefined;
  /** The error of the last attempt. */
  readonly error: unknown;
  /** A request is under way, or is about to begin. */
  readonly busy: boolean;
}

const noAnswerYet: Answer<never> = { data: undefined, error: undefined, busy: true };

/** Some pages back and forth. */
const mostKept = 50;

interface Entry {
  answer: Answer<unknown>;
  readonly followers: Set<() => void>;
  request: AbortController | undefined;
  /** A loader asked, and the part has not shown yet. */
  isAhead: boolean;
  /** The session has ended: nothing of it stays after the last follower. */
  isForgotten: boolean;
}

export interface Answers {
  readonly read: <T>(key: string) => Answer<T>;
  /** Calls `listener` with each change, and asks unless somebody has. Without followers, a request ends. */
  readonly follow: (ask: Ask<unknown>, listener: () => void) => () => void;
  /** Asks again, in place of a request under way. */
  readonly ask: (ask: Ask<unknown>) => void;
  /**
   * Asks, for a loader, for a part that is about to show. A part that shows already renews itself. Resolves when an answer or a failure
   * is there.
   */
  readonly askAhead: (ask: Ask<unknown>, signal: AbortSignal) => Promise<void>;
  readonly forget: () => void;
}

export function createAnswers(): Answers {
  const entries = new Map<string, Entry>();

  function entryOf(key: string): Entry {
    const found = entries.get(key);
    if (found) return found;
    const entry = {
      answer: noAnswerYet,
      followers: new Set<() => void>(),
      request: undefined,
      isAhead: false,
      isForgotten: false,
    };
    entries.set(key, entry);
    return entry;
  }

  function begin({ key, fetch }: Ask<unknown>): Promise<void> {
    const entry = entryOf(key);
    entry.request?.abort();
    const request = new AbortController();
    entry.request = request;
    publish(entry, { ...entry.answer, busy: true });
    const settle = (result: Partial<Answer<unknown>>) => {
      if (entry.request !== request) return;
      entry.request = undefined;
      publish(entry, { ...entry.answer, error: undefined, ...result, busy: false });
    };
    return fetch(request.signal).then(
      (data) => settle({ data }),
      (error: unknown) => settle({ error }),
    );
  }

  function leave(key: string, entry: Entry): void {
    if (entry.followers.size > 0 || entries.get(key) !== entry) return;
    entry.request?.abort();
    entry.request = undefined;
    entry.isAhead = false;
    entry.answer = { ...entry.answer, busy: false };
    entries.delete(key);
    if (entry.isForgotten || entry.answer.data === undefined) return;
    entries.set(key, entry);
    dropOldest();
  }

  function dropOldest(): void {
    for (const [key, { followers, request }] of entries) {
      if (entries.size <= mostKept) return;
      if (followers.size === 0 && !request) entries.delete(key);
    }
  }

  return {
    read: <T>(key: string) => (entries.get(key)?.answer ?? noAnswerYet) as Answer<T>,
    follow: (ask, listener) => {
      const entry = entryOf(ask.key);
      entry.followers.add(listener);
      if (!entry.isAhead && !entry.request) void begin(ask);
      entry.isAhead = false;
      return () => {
        entry.followers.delete(listener);
        // React may take a part off the page and put it back at once.
        queueMicrotask(() => leave(ask.key, entry));
      };
    },
    ask: (ask) => void begin(ask),
    askAhead: async (ask, signal) => {
      const entry = entryOf(ask.key);
      if (entry.followers.size > 0 || entry.request) return;
      const settled = begin(ask);
      entry.isAhead = true;
      signal.addEventListener('abort', () => leave(ask.key, entry));
      await settled;
    },
    forget: () => {
      for (const [key, entry] of entries) {
        entry.isForgotten = true;
        leave(key, entry);
      }
    },
  };
}

function publish(entry: Entry, answer: Answer<unknown>): void {
  entry.answer = answer;
  for (const listener of entry.followers) listener();
}

export const answers = createAnswers();
onForget(answers.forget);
