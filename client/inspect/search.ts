// Which kept exchanges hold the words of a search in what the page shows of them: headers that are not hidden, bodies, fields,
// frames and events.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Exchange, FoundWord, MessageView } from '@underpass/rules/inspect/exchange.ts';
import type { KeptExchange } from './exchange-log.ts';
import { viewExchange } from './view.ts';

const maxWords = 8;
const maxWordLength = 100;
/** Text between two turns of the event loop: at most 2 ms. */
const sliceLength = 256 * 1024;
/** Packed bodies could unpack to gigabytes, and the page waits 15 s. */
const maxSearchMs = 5_000;

/** Words in lower case, each once; null if there are too many, or if one is too long. */
export function parseWords(text: string): readonly string[] | null {
  const words = [...new Set(text.toLowerCase().split(/\s+/).filter(Boolean))];
  return words.length <= maxWords && words.every((word) => word.length <= maxWordLength) ? words : null;
}

export interface Search {
  readonly words: readonly string[];
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Nobody waits for the result any more. */
  readonly signal: AbortSignal;
}

/** Searches in the order given. The second part is false if time ran out before the last exchange. */
export async function searchExchanges(
  exchanges: Iterable<KeptExchange>,
  { words, now, signal }: Search,
): Promise<readonly [found: readonly FoundWord[], isWhole: boolean]> {
  const found = words.map((word) => ({ word, ids: [] as number[] }));
  const endMs = now() + maxSearchMs;
  for (const exchange of exchanges) {
    if (signal.aborted || now() > endMs) return [found, false];
    if (exchange.dropped) continue;
    const held = await wordsIn(exchange, words, signal);
    for (const { word, ids } of found) if (held.has(word)) ids.push(exchange.id);
    await nextTurn();
  }
  return [found, true];
}

async function wordsIn(exchange: KeptExchange, words: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>> {
  const held = new Set<string>();
  // Signatures are not checked: that would hash each body.
  const shown = await viewExchange(exchange, () => null, false);
  for (const slice of slicesOf(textsOf(shown))) {
    if (slice === null) {
      await nextTurn();
      if (signal.aborted) break;
      continue;
    }
    const text = slice.toLowerCase();
    for (const word of words) if (text.includes(word)) held.add(word);
    if (held.size === words.length) break;
  }
  return held;
}

/** Slices overlap by the longest word. Null: give others a turn. */
function* slicesOf(texts: Iterable<string>): Generator<string | null, void> {
  let length = 0;
  for (const text of texts)
    for (let at = 0; at < text.length; at += sliceLength) {
      const slice = text.slice(at, at + sliceLength + maxWordLength);
      yield slice;
      length += slice.length;
      if (length < sliceLength) continue;
      length = 0;
      yield null;
    }
}

function* textsOf({ request, response, frames, events }: Exchange): Generator<string, void> {
  yield* textsOfMessage(request);
  if (response !== null) yield* textsOfMessage(response);
  for (const { text } of frames) yield text ?? '';
  for (const { event, data, lastEventId } of events) yield `${event} ${lastEventId} ${data}`;
}

function* textsOfMessage({ headers, body }: MessageView): Generator<string, void> {
  for (const [name, value] of headers) yield `${name}: ${value ?? ''}`;
  for (const { name, fileName, value } of body.fields) yield `${name} ${fileName ?? ''} ${value ?? ''}`;
  if (body.text === null) return;
  yield body.text;
  // As the tree shows it: many programs write `\/` and `\u00e9`.
  if (body.shape === 'json' && body.text.includes('\\')) yield unescaped(body.text);
}

const unescaped = (json: string): string =>
  json.replace(/\\(?:u([0-9a-f]{4})|(.))/gi, (_, code: string | undefined, sign: string) =>
    code === undefined ? sign : String.fromCharCode(Number.parseInt(code, 16)),
  );
