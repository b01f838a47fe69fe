// The bus over NATS, for several control replicas. It opens and works without a server, and joins one as soon as it answers. While
// it is alone, a message reaches only the listeners of its own process, as bus.ts allows.

import { setTimeout as delay } from 'node:timers/promises';
import { connect, type Msg, type NatsConnection } from '@nats-io/transport-node';
import type { Dependency } from '../dependency/dependency.ts';
import type { Bus } from './bus.ts';
import { createMemoryBus } from './memory.ts';

// One installation per prefix: a NATS server may serve others too.
const prefix = 'underpass.';
/** Time for one attempt. A start waits for the first, so a server that drops packets delays it by this much. */
const connectTimeoutMs = 3_000;
const reconnectPauseMs = 1_000;
/** Two lost answers in a row end a connection: a silent server is noticed after 10 to 15 s. */
const pingEveryMs = 5_000;
const mostPingsOut = 2;
/** Time for the last messages to leave. */
const drainTimeoutMs = 2_000;

interface NatsBusDeps {
  /** `nats://` or `tls://`, several separated by commas. */
  readonly url: string;
  readonly onError: (error: unknown) => void;
  readonly dependency: Dependency;
}

type Listener = (message: unknown) => void;

function toConnect(text: string) {
  const urls = text.split(',').map((url) => new URL(url.trim()));
  const { username, password } = urls.find((url) => url.username !== '') ?? { username: '', password: '' };
  return {
    servers: urls.map(({ host }) => host),
    timeout: connectTimeoutMs,
    maxReconnectAttempts: -1,
    reconnectTimeWait: reconnectPauseMs,
    pingInterval: pingEveryMs,
    maxPingOut: mostPingsOut,
    // The memory bus serves this process's own listeners.
    noEcho: true,
    ...(username === '' ? {} : { user: decodeURIComponent(username), pass: decodeURIComponent(password) }),
    ...(urls.some(({ protocol }) => protocol === 'tls:') ? { tls: {} } : {}),
  };
}

/** Does not wait for a server that is away. */
async function end(connection: NatsConnection): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, drainTimeoutMs);
  await Promise.race([connection.drain(), late]).catch(() => {});
  clearTimeout(timer);
  await connection.close();
}

class NatsBus implements Bus {
  readonly #deps: NatsBusDeps;
  readonly #local: Bus;
  readonly #closing = new AbortController();
  /** What to subscribe to once a server answers, with the way to end it after that. */
  readonly #listeners = new Map<Listener, { readonly subject: string; stop: () => void }>();
  #connection: NatsConnection | null = null;

  constructor(deps: NatsBusDeps) {
    this.#deps = deps;
    this.#local = createMemoryBus(deps.onError);
  }

  /** Resolves after the first attempt, whatever came of it, and goes on in the background. */
  async open(): Promise<void> {
    if (!(await this.#join())) void this.#joinLater();
  }

  async #joinLater(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await delay(reconnectPauseMs, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted || (await this.#join())) return;
    }
  }

  async #join(): Promise<boolean> {
    const { url, dependency } = this.#deps;
    try {
      const connection = await connect(toConnect(url));
      if (this.#closing.signal.aborted) await connection.close();
      else this.#begin(connection);
      return true;
    } catch (error) {
      dependency.failed(error);
      return false;
    }
  }

  #begin(connection: NatsConnection): void {
    this.#connection = connection;
    this.#deps.dependency.answered();
    void this.#follow(connection);
    for (const [listener, entry] of this.#listeners) entry.stop = this.#listen(connection, entry.subject, listener);
  }

  /** The library reconnects by itself, but gives up when a server refuses its name and password twice. */
  async #follow(connection: NatsConnection): Promise<void> {
    const { dependency, onError } = this.#deps;
    for await (const status of connection.status()) {
      if (status.type === 'reconnect') dependency.answered();
      else if (status.type === 'disconnect') dependency.failed('the connection was lost');
      else if (status.type === 'error') onError(status.error);
    }
    if (this.#closing.signal.aborted) return;
    this.#connection = null;
    dependency.failed((await connection.closed()) ?? 'the connection was closed');
    await this.#joinLater();
  }

  #listen(connection: NatsConnection, subject: string, listener: Listener): () => void {
    const { onError } = this.#deps;
    const callback = (error: Error | null, message: Msg): void => {
      try {
        if (error) throw error;
        listener(message.json());
      } catch (thrown) {
        onError(thrown);
      }
    };
    const subscription = connection.subscribe(prefix + subject, { callback });
    return () => subscription.unsubscribe();
  }

  publish(subject: string, message: unknown): void {
    this.#local.publish(subject, message);
    // The library would keep messages for a server that is away, without a bound.
    if (!this.#deps.dependency.answers) return;
    try {
      this.#connection?.publish(prefix + subject, JSON.stringify(message));
    } catch (error) {
      // Closed, or a message larger than the server takes: the bus may lose messages, and the log shows it.
      this.#deps.onError(error);
    }
  }

  subscribe(subject: string, listener: Listener): () => void {
    // A function of its own: one listener may hear several subjects.
    const own: Listener = (message) => listener(message);
    const stopLocal = this.#local.subscribe(subject, own);
    const entry = { subject, stop: this.#connection === null ? () => {} : this.#listen(this.#connection, subject, own) };
    this.#listeners.set(own, entry);
    return () => {
      stopLocal();
      this.#listeners.delete(own);
      entry.stop();
    };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#local.close();
    if (this.#connection !== null) await end(this.#connection);
  }
}

export async function openNatsBus(deps: NatsBusDeps): Promise<Bus> {
  const bus = new NatsBus(deps);
  await bus.open();
  return bus;
}
