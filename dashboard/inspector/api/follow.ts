// Follows the client's requests: the list, then every change. Connects again by itself, and says since when it has no connection.
import { inspectCalls } from '@underpass/rules/inspect/calls.ts';
import { createEventReader } from '@underpass/rules/inspect/event-data.ts';
import type { ExchangeList, InspectEvent } from '@underpass/rules/inspect/exchange.ts';
import { pause } from '../../api/pause.ts';
import { isTokenRefused, listExchanges, send } from './calls.ts';

/** The client sends a comment every 15 s. */
const silenceMs = 40_000;
const firstRetryMs = 1_000;
const lastRetryMs = 10_000;

interface Follower {
  readonly onList: (list: ExchangeList) => void;
  readonly onEvent: (event: InspectEvent) => void;
  /** The connection ended; another attempt follows. */
  readonly onLost: () => void;
  /** The token is wrong: the client was started again. No attempt follows. */
  readonly onRefused: () => void;
}

/** Runs until the returned function is called. */
export function followExchanges(follower: Follower): () => void {
  const stop = new AbortController();
  void repeat(follower, stop.signal);
  return () => stop.abort();
}

async function repeat(follower: Follower, signal: AbortSignal): Promise<void> {
  let retryMs = firstRetryMs;
  const onConnected = () => {
    retryMs = firstRetryMs;
  };
  while (!signal.aborted) {
    try {
      await followOnce(follower, signal, onConnected);
    } catch (error) {
      if (signal.aborted) return;
      if (isTokenRefused(error)) return follower.onRefused();
    }
    if (signal.aborted) return;
    follower.onLost();
    await pause(retryMs, signal);
    retryMs = Math.min(retryMs * 2, lastRetryMs);
  }
}

/** The stream opens before the list is read, so no change between the two is missed. */
async function followOnce(follower: Follower, signal: AbortSignal, onConnected: () => void): Promise<void> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), silenceMs);
  try {
    const response = await send(inspectCalls.events, {}, { signal: AbortSignal.any([signal, silence.signal]) });
    follower.onList(await listExchanges(signal));
    onConnected();
    const read = createEventReader();
    for await (const chunk of chunksOf(response)) {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), silenceMs);
      for (const data of read(chunk)) follower.onEvent(JSON.parse(data) as InspectEvent);
    }
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}

/** A loop instead of the stream's own iterator, which Safari lacks. */
async function* chunksOf(response: Response): AsyncGenerator<string> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  while (true) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}
