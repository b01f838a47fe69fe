// The bus over NATS, for several control replicas. Reconnects for ever; what was said meanwhile is lost, as bus.ts says.

import { connect, type Msg, type NatsConnection } from '@nats-io/transport-node';
import type { Bus } from './bus.ts';

// One installation per prefix: a NATS server may serve others too.
const prefix = 'underpass.';
const connectTimeoutMs = 10_000;
const reconnectPauseMs = 1_000;

type OnError = (error: unknown) => void;

const toConnect = (url: string) => {
  const { protocol, host, username, password } = new URL(url);
  return {
    servers: host,
    timeout: connectTimeoutMs,
    maxReconnectAttempts: -1,
    reconnectTimeWait: reconnectPauseMs,
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

export const openNatsBus = async (url: string, onError: OnError): Promise<Bus> => {
  const connection = await connect(toConnect(url));
  return {
    publish: (subject, message) => {
      try {
        connection.publish(prefix + subject, JSON.stringify(message));
      } catch (error) {
        // Closed, or a message over the server's bound: at most once allows the loss, the log tells of it.
        onError(error);
      }
    },
    subscribe: (subject, listener) => {
      const subscription = listenTo(connection, subject, listener, onError);
      return () => subscription.unsubscribe();
    },
    close: () => connection.drain(),
  };
};
