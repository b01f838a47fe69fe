// One stream of server-sent events: sends the present state, then changes in batches. It ends when its reader loses the
// right to it, goes away, or stops reading.

// Changes within this time are sent together: a screen needs no more.
const gatherMs = 500;
// Comments keep proxies from closing a quiet stream. The reader's right is checked with each.
const beatMs = 20_000;
// Chunks that may wait for a slow reader before its stream is cut.
const waitingChunksMost = 64;

export interface LiveSource {
  /** Answers a function that stops listening. */
  readonly listen: (onMoved: (ids: readonly string[]) => void) => () => void;
  /** The events of the present state. The stream listens first, so that no change is lost in between. */
  readonly renderAll: () => Promise<string>;
  /** The events for the tunnels that changed. */
  readonly render: (ids: readonly string[]) => Promise<string>;
  readonly isStillPermitted: () => Promise<boolean>;
  readonly onEnd: () => void;
}

export interface LiveStream {
  readonly body: ReadableStream<Uint8Array>;
  /** Checks the reader's right now. */
  check(): void;
  end(): void;
}

export const openLiveStream = (source: LiveSource): LiveStream => {
  const encoder = new TextEncoder();
  const moved = new Set<string>();
  const stops: (() => void)[] = [];
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  /** Releases everything, once. Answers the controller if the stream is still to be closed. */
  const stop = (): ReadableStreamDefaultController<Uint8Array> | undefined => {
    const open = controller;
    controller = undefined;
    for (const each of stops.splice(0)) each();
    if (open) source.onEnd();
    return open;
  };
  const end = (): void => stop()?.close();
  /** Cuts the stream with its connection: a close would wait behind the unread chunks. */
  const drop = (): void => stop()?.error(new Error('live view: the reader does not read'));
  const write = (text: string): void => {
    if (!controller || text === '') return;
    if ((controller.desiredSize ?? 0) < -waitingChunksMost) drop();
    else controller.enqueue(encoder.encode(text));
  };
  const flush = async (): Promise<void> => {
    const ids = [...moved];
    moved.clear();
    const text = ids.length === 0 ? '' : await source.render(ids);
    if (text === '') return;
    if (await source.isStillPermitted()) write(text);
    else end();
  };
  const beat = async (): Promise<void> => ((await source.isStillPermitted()) ? write(': still here\n\n') : end());
  /** Never runs twice at once, so that events stay in order. */
  const every = (ms: number, work: () => Promise<void>): void => {
    let busy = false;
    const run = async (): Promise<void> => {
      if (busy) return;
      busy = true;
      await work().catch(end);
      busy = false;
    };
    const timer = setInterval(run, ms);
    stops.push(() => clearInterval(timer));
  };
  const begin = async (): Promise<void> => {
    write(await source.renderAll());
    if (controller) every(gatherMs, flush);
  };

  const body = new ReadableStream<Uint8Array>({
    start: (opened) => {
      controller = opened;
      every(beatMs, beat);
      stops.push(
        source.listen((ids) => {
          for (const id of ids) moved.add(id);
        }),
      );
      write(': live\n\n');
      begin().catch(end);
    },
    // The reader has closed it.
    cancel: () => void stop(),
  });
  return { body, check: () => void beat().catch(end), end };
};
