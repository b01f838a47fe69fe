// The bus over NATS, for several control replicas. Reconnects for ever. While it is disconnected, a message reaches only the
// listeners of its own process, as bus.ts allows.

import { connect, type Msg, type NatsConnection } from '@nats-io/transport-node';
import type { Bus } from './bus.ts';
import { createMemoryBus } from './memory.ts';

// One installation per prefix: a NATS server may serve others too.
const prefix = 'underpass.';
const connectTimeoutMs = 10_000;
const reconnectPauseMs = 1_000;
/** Time for the last messages to leave. */
const drainTimeoutMs = 2_000;

type OnError = (error: unknown) => void;

const toConnect = (url: string) => {
  const { protocol, host, username, password } = new URL(url);
  return {
    servers: host,
    timeout: connectTimeoutMs,
    maxReconnectAttempts: -1,
    reconnectTimeWait: reconnectPauseMs,
    // The memory bus serves this process's own listeners.
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

/** Does not wait for a server that is away. */
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
        // Closed, or a message larger than the server takes: the bus may lose messages, and the log shows it.
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
