// One tunnel of the library while it is carried: its addresses, its events and its end.

import type { TunnelUpstreams } from '../carry/api.ts';
import type { InsideUpstream, LoadedTunnel } from '../config/loaded-tunnel.ts';
import { ClientError } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import type { LogEvent } from '../terminal/log-line.ts';
import { type EventWatch, watchReady } from '../tunnels/readiness.ts';
import { startTunnel } from '../tunnels/running-tunnel.ts';
import { watchFailure } from '../tunnels/start-failure.ts';
import { createTunnelSet, type TunnelSet } from '../tunnels/tunnel-set.ts';
import type { OpenSource } from './source.ts';
import type * as api from './underpass.d.ts';
import { underpassError } from './underpass-error.ts';

export interface Carried {
  readonly upstreams: TunnelUpstreams;
  readonly inside?: InsideUpstream | undefined;
  /** Ends connections on which no request is open: visitors keep them for minutes. */
  readonly endIdle?: () => void;
  /** Ends what serves the visitors. */
  readonly end: () => void;
}

class TunnelEvent extends Event {
  readonly error: unknown;

  constructor(type: string, error?: unknown) {
    super(type);
    this.error = error;
  }
}

/** The longest time of a timer. */
const foreverMs = 2 ** 31 - 1;

export class CarriedTunnel extends EventTarget implements api.Tunnel {
  urls: readonly string[] = [];
  /** Rejects if the tunnel cannot start or ends before. */
  readonly ready: Promise<void>;
  readonly #source: OpenSource;
  readonly #carried: Carried;
  readonly #set: TunnelSet;
  /** Keeps the process alive while no carrier is connected, as a listening server would. */
  readonly #alive = setInterval(() => {}, foreverMs);
  readonly #watches: readonly EventWatch[];
  readonly #stopSteering: () => void;
  #steer: ((event: LogEvent) => void) | undefined;
  #isLost = false;
  #failed!: (error: unknown) => void;
  #closing: Promise<void> | undefined;

  constructor(io: Io, source: OpenSource, carried: Carried) {
    super();
    this.#source = source;
    this.#carried = carried;
    this.#set = createTunnelSet((tunnel) => startTunnel(io, tunnel, (event) => this.#take(event), { drainMs: source.drainMs }));
    let isReady!: () => void;
    this.ready = new Promise((resolve, reject) => {
      isReady = resolve;
      this.#failed = reject;
    });
    const failure = watchFailure(source.readiness, (error) => this.#end(error));
    const readiness = watchReady({
      ...source.readiness,
      view: () => this.#set.views()[0],
      onReady: (urls) => {
        failure.end();
        this.urls = urls;
        isReady();
      },
    });
    this.#watches = [readiness, failure];
    this.#stopSteering = this.#startSteering();
  }

  get url(): string {
    return this.urls[0] ?? '';
  }

  get name(): string {
    return this.#set.views()[0]?.name ?? this.#source.name;
  }

  /** Throws if the settings cannot work at all. */
  start(): void {
    this.#set.apply([this.#load(this.#source)]);
  }

  /** The handler threw. */
  fail(error: unknown): void {
    this.dispatchEvent(new TunnelEvent('error', error));
  }

  close(): Promise<void> {
    return this.#end(undefined);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #load({ url, token }: Pick<OpenSource, 'url' | 'token'>): LoadedTunnel {
    const { name, isUnnamed } = this.#source;
    const { upstreams, inside } = this.#carried;
    const unnamed = isUnnamed === undefined ? {} : { isUnnamed };
    const config = { name, ...unnamed, url, token: { kind: 'value', token } as const, upstreams, upstreamInsecure: false };
    return { config, token, ...(inside && { inside }) };
  }

  #startSteering(): () => void {
    let gone: unknown;
    const steer = this.#source.steer?.(
      async ({ url, token = '' }) => this.#load({ url, token }),
      ({ error }) => {
        gone = error ?? new ClientError('tunnel-deleted', this.#source.name);
      },
    );
    const steered = steer?.({
      views: this.#set.views,
      apply: (tunnels) => void (this.#closing === undefined && this.#set.apply(tunnels)),
      stop: () => void this.#end(gone),
    });
    this.#steer = steered?.onEvent;
    return () => steered?.end();
  }

  #take(event: LogEvent): void {
    this.#steer?.(event);
    for (const { onEvent } of this.#watches) onEvent(event);
    if (this.urls.length === 0 || this.#closing !== undefined) return;
    if (event.event === 'disconnected') {
      this.#isLost = true;
      this.dispatchEvent(new TunnelEvent('lost'));
    } else if (event.event === 'connected' && this.#isLost) {
      this.#isLost = false;
      this.dispatchEvent(new TunnelEvent('back'));
    }
  }

  /** Ends once. `error` is why, unless somebody asked for it. */
  #end(error: unknown): Promise<void> {
    this.#closing ??= this.#endOnce(error === undefined ? undefined : underpassError(error));
    return this.#closing;
  }

  async #endOnce(error: api.UnderpassError | undefined): Promise<void> {
    for (const { end } of this.#watches) end();
    this.#stopSteering();
    const drained = this.#set.drain();
    this.#carried.endIdle?.();
    await drained;
    this.#set.close();
    this.#carried.end();
    // A tunnel that the server does not delete now has an expiry.
    await this.#source.end().catch(() => {});
    clearInterval(this.#alive);
    this.#failed(error ?? underpassError(new ClientError('not-ready', 'it was closed')));
    this.dispatchEvent(new TunnelEvent('closed', error));
  }
}
