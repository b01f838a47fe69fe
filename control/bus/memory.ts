// The embedded bus: one process. Messages arrive in a later turn, as they do from any bus, and as copies.

import type { Bus } from './bus.ts';

type Listener = (message: unknown) => void;

export const createMemoryBus = (): Bus => {
  const listeners = new Map<string, Set<Listener>>();

  const deliver = (subject: string, text: string): void => {
    for (const listener of listeners.get(subject) ?? []) listener(JSON.parse(text));
  };

  return {
    publish: (subject, message) => {
      // Nobody listens to most subjects: what nobody hears is not copied.
      if (!listeners.has(subject)) return;
      const text = JSON.stringify(message);
      setImmediate(deliver, subject, text);
    },
    subscribe: (subject, listener) => {
      const known = listeners.get(subject) ?? new Set<Listener>();
      listeners.set(subject, known.add(listener));
      return () => {
        known.delete(listener);
        if (known.size === 0) listeners.delete(subject);
      };
    },
    close: async () => listeners.clear(),
  };
};
