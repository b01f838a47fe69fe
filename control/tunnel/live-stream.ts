// One stream of server-sent events: tells what is, gathers what moved, tells it in batches while its reader may know, and ends
// when nobody may or does read.

// Moves within this are one event: a screen needs no more.
const gatherMs = 500;
// Comments keep proxies from closing a quiet stream; with each, the right to it is looked at again.
const beatMs = 20_000;
// Chunks that may wait for a slow reader before it is let go.
const waitingChunksMost = 64;

export interface LiveSource {
  /** Answers how to stop listening. */
  readonly listen: (onMoved: (ids: readonly string[]) => void) => () => void;
  /** The events to begin with: who asked before the stream was open has missed what moved in between. */
  readonly renderAll: () => Promise<string>;
  /** The events to write for what moved. */
  readonly render: (ids: readonly string[]) => Promise<string>;
  readonly isStillPermitted: () => Promise<boolean>;
  readonly onEnd: () => void;
}

export interface LiveStream {
  readonly body: ReadableStream<Uint8Array>;
  /** Looks at the right to it now. */
  check(): void;
  end(): void;
}

export const openLiveStream = (source: LiveSource): LiveStream => {
  const encoder = new TextEncoder();
  const moved = new Set<string>();
  const stops: (() => void)[] = [];
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  /** Once; answers what is left to close. */
  const stop = (): ReadableStreamDefaultController<Uint8Array> | undefined => {
    const open = controller;
    controller = undefined;
    for (const each of stops.splice(0)) each();
    if (open) source.onEnd();
    return open;
  };
  const end = (): void => stop()?.close();
  /** With what waits for it, and with its connection: a close would stand behind all of that. */
  const drop = (): void => stop()?.error(new Error('live view: its reader does not read'));
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
  /** Never twice at once: what was read later is told later. */
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
    // Closed by its reader: there is nothing left to close.
    cancel: () => void stop(),
  });
  return { body, check: () => void beat().catch(end), end };
};
