// Fan-out between control replicas: a message reaches every subscriber of its subject, this process's own included.
// Delivers at most once, in order per publisher, and stores nothing: a listener also reads the store. Drivers: memory.ts, nats.ts.

/** Subjects are words of [a-z0-9-] joined by dots. */
export interface Bus {
  publish(subject: string, message: unknown): void;
  /** Returns a function that ends the subscription. */
  subscribe(subject: string, listener: (message: unknown) => void): () => void;
  close(): Promise<void>;
}
