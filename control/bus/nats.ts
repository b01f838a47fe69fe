// The bus over NATS, for several control replicas. Reconnects for ever; what was said meanwhile reaches this process's own
// listeners and no other's, as bus.ts allows.

import { connect, type Msg, type NatsConnection } from '@nats-io/transport-node';
import type { Bus } from './bus.ts';
import { createMemoryBus } from './memory.ts';

// One installation per prefix: a NATS server may serve others too.
const prefix = 'underpass.';
const connectTimeoutMs = 10_000;
const reconnectPauseMs = 1_000;
/** What was published last has so long to leave. */
const drainTimeoutMs = 2_000;

type OnError = (error: unknown) => void;

const toConnect = (url: string) => {
  const { protocol, host, username, password } = new URL(url);
  return {
    servers: host,
    timeout: connectTimeoutMs,
    maxReconnectAttempts: -1,
    reconnectTimeWait: reconnectPauseMs,
    // Our own listeners hear of it without the server.
    noEcho: true,
    ...(username === '' ? {} : { user: decodeURIComponent(username), pass: decodeURIComponent(password) }),
    ...(protocol === 'tls:' ? { tls: {} } : {}),
  };
};

const listenTo = (connection: NatsConnection, subject: string, listener: (message: unknown) => void, onError: OnError) =>
  connection.subscribe(prefix + subject, {
    callback: (error: Error | null, message: Msg) => {
      if (error) return onError(error);
      try {
        listener(message.json());
      } catch (thrown) {
        onError(thrown);
      }
    },
  });

/** A server that is away takes nothing more: then there is nothing to wait for. */
const end = async (connection: NatsConnection): Promise<void> => {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, drainTimeoutMs);
  await Promise.race([connection.drain(), late]).catch(() => {});
  clearTimeout(timer);
  await connection.close();
};

export const openNatsBus = async (url: string, onError: OnError): Promise<Bus> => {
  const connection = await connect(toConnect(url));
  const local = createMemoryBus(onError);
  return {
    publish: (subject, message) => {
      local.publish(subject, message);
      try {
        connection.publish(prefix + subject, JSON.stringify(message));
      } catch (error) {
        // Closed, or a message over the server's bound: at most once allows the loss, the log tells of it.
        onError(error);
      }
    },
    subscribe: (subject, listener) => {
      const stopLocal = local.subscribe(subject, listener);
      const subscription = listenTo(connection, subject, listener, onError);
      return () => {
        stopLocal();
        subscription.unsubscribe();
      };
    },
    close: async () => {
      await local.close();
      await end(connection);
    },
  };
};
