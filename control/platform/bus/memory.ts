// The bus of one process: calls listeners in a microtask of the same turn, in the order of the messages.

import type { Bus } from './bus.ts';

export function createMemoryBus(onError: (error: unknown) => void): Bus {
  const listeners = new Map<string, Set<(message: unknown) => void>>();
  let isClosed = false;
  const deliver = (subject: string, text: string): void => {
    for (const listener of [...(listeners.get(subject) ?? [])]) {
      try {
        // Each listener gets its own copy, as over the network.
        listener(JSON.parse(text));
      } catch (error) {
        onError(error);
      }
    }
  };
  return {
    publish: (subject, message) => {
      const text = JSON.stringify(message);
      queueMicrotask(() => isClosed || deliver(subject, text));
    },
    subscribe: (subject, listener) => {
      const own = listeners.get(subject) ?? new Set();
      listeners.set(subject, own.add(listener));
      return () => own.delete(listener);
    },
    close: async () => {
      isClosed = true;
    },
  };
}
