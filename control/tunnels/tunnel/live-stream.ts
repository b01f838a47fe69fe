// One stream of server-sent events: sends the present state, then changes in batches. It ends when its reader loses the
// right to it, goes away, or stops reading.

// Changes within this time are sent together: a screen needs no more.
const gatherMs = 500;
// A screen says that its updates have stopped once it misses two of these. They also keep proxies from closing a quiet stream.
const beatMs = 4_000;
// How often the reader's right is read from the database. Lost rights that control notices end the stream at once (`check`).
const checkMs = 20_000;
// Chunks that may wait for a slow reader before its stream is cut.
const waitingChunksMost = 64;

/** Browsers drop an event without a data line. */
const beat = 'event: beat\ndata:\n\n';

export interface Right {
  readonly isPermitted: boolean;
  /** The event that tells the reader of a change of their right; empty without one. */
  readonly event: string;
}

export interface LiveSource {
  /** Returns a function that stops listening. */
  readonly listen: (onMoved: (ids: readonly string[]) => void) => () => void;
  /** The events of the present state. The stream listens first, so that no change is lost in between. */
  readonly renderAll: () => Promise<string>;
  /** The events for the tunnels that changed. */
  readonly render: (ids: readonly string[]) => Promise<string>;
  readonly readRight: () => Promise<Right>;
  readonly onEnd: () => void;
}

export class LiveStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #source: LiveSource;
  readonly #encoder = new TextEncoder();
  /** Tunnels that changed since the last batch. */
  readonly #moved = new Set<string>();
  readonly #stops: (() => void)[] = [];
  /** Undefined once the stream has ended. */
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(source: LiveSource) {
    this.#source = source;
    // `cancel` means that the reader has closed it.
    this.body = new ReadableStream({ start: (opened) => this.#start(opened), cancel: () => void this.#stop() });
  }

  /** Checks the reader's right now. */
  check(): void {
    this.#checkRight().catch(() => this.end());
  }

  end(): void {
    this.#stop()?.close();
  }

  #start(opened: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = opened;
    this.#every(beatMs, async () => this.#write(beat));
    this.#every(checkMs, () => this.#checkRight());
    const hear = (ids: readonly string[]): void => {
      for (const id of ids) this.#moved.add(id);
    };
    this.#stops.push(this.#source.listen(hear));
    this.#write(': live\n\n');
    this.#begin().catch(() => this.end());
  }

  async #begin(): Promise<void> {
    this.#write(await this.#source.renderAll());
    if (this.#controller) this.#every(gatherMs, () => this.#flush());
  }

  async #flush(): Promise<void> {
    const ids = [...this.#moved];
    this.#moved.clear();
    const text = ids.length === 0 ? '' : await this.#source.render(ids);
    if (text === '') return;
    if (await this.#checkRight()) this.#write(text);
  }

  async #checkRight(): Promise<boolean> {
    const { isPermitted, event } = await this.#source.readRight();
    this.#write(event);
    if (!isPermitted) this.end();
    return isPermitted;
  }

  #write(text: string): void {
    if (!this.#controller || text === '') return;
    if ((this.#controller.desiredSize ?? 0) < -waitingChunksMost) this.#drop();
    else this.#controller.enqueue(this.#encoder.encode(text));
  }

  /** Cuts the stream with its connection: a close would wait until the unread chunks are read. */
  #drop(): void {
    this.#stop()?.error(new Error('live view: the reader does not read'));
  }

  /** Never runs `work` twice at once, so that events stay in order. */
  #every(ms: number, work: () => Promise<unknown>): void {
    let busy = false;
    const run = async (): Promise<void> => {
      if (busy) return;
      busy = true;
      await work().catch(() => this.end());
      busy = false;
    };
    const timer = setInterval(run, ms);
    this.#stops.push(() => clearInterval(timer));
  }

  /** Releases everything, once. Returns the controller if the stream is still to be closed. */
  #stop(): ReadableStreamDefaultController<Uint8Array> | undefined {
    const open = this.#controller;
    this.#controller = undefined;
    for (const each of this.#stops.splice(0)) each();
    if (open) this.#source.onEnd();
    return open;
  }
}
