// Asks name servers for TXT, A and AAAA records: bounded in time, in number at once, and in what waits.
// Never throws for what the network does.

import { Resolver } from 'node:dns/promises';
import type { TxtAnswer } from './core/challenge.ts';

export interface NameServer {
  readonly address: string;
  readonly port: number;
}

export interface ResolverOptions {
  /** Empty: those of the system. */
  readonly servers: readonly NameServer[];
  /** For one question, retries included. */
  readonly timeoutMs?: number;
}

export interface RecordResolver {
  readonly txt: (name: string) => Promise<TxtAnswer>;
  /** A and AAAA together; empty when there are none or no answer came. */
  readonly addresses: (name: string) => Promise<readonly string[]>;
  /** Ends what is under way. */
  readonly close: () => void;
}

const defaultTimeoutMs = 5_000;
/** Questions under way at once; each holds a socket for at most timeoutMs. */
const maxAtOnce = 32;
/** Questions that wait for their turn; more are answered with "unknown" at once. */
const maxWaiting = 512;
/** What one answer may hold: a TXT name with more records than this is not read further. */
const maxRecords = 1_000;

/** c-ares' ways of saying that the servers answered and there is nothing. */
const negativeCodes = new Set(['ENOTFOUND', 'ENODATA']);

const serverText = ({ address, port }: NameServer): string =>
  address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

/** At most so many run; the rest waits in order, and is turned away when too many wait. */
function createTurnstile(): <T>(run: () => Promise<T>, turnedAway: T) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  const enter = async (): Promise<void> => {
    if (running < maxAtOnce) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
  };
  const leave = (): void => {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  };
  return async (run, turnedAway) => {
    if (waiting.length >= maxWaiting) return turnedAway;
    await enter();
    try {
      return await run();
    } finally {
      leave();
    }
  };
}

export function createResolver(options: ResolverOptions): RecordResolver {
  const timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
  const turn = createTurnstile();
  const underWay = new Set<Resolver>();

  /** A resolver of its own for each question, because cancel() ends all of a resolver's questions. */
  const ask = async <T>(question: (resolver: Resolver) => Promise<T>, otherwise: (code: string) => T): Promise<T> => {
    const resolver = new Resolver({ timeout: Math.ceil(timeoutMs / 3), tries: 2 });
    if (options.servers.length > 0) resolver.setServers(options.servers.map(serverText));
    const timer = setTimeout(() => resolver.cancel(), timeoutMs);
    underWay.add(resolver);
    try {
      return await question(resolver);
    } catch (error) {
      return otherwise(codeOf(error));
    } finally {
      clearTimeout(timer);
      underWay.delete(resolver);
    }
  };

  const txt = (name: string): Promise<TxtAnswer> =>
    turn<TxtAnswer>(
      () =>
        ask<TxtAnswer>(
          async (resolver) => (await resolver.resolveTxt(name)).slice(0, maxRecords),
          (code) => (negativeCodes.has(code) ? [] : 'unknown'),
        ),
      'unknown',
    );

  const family = (name: string, method: 'resolve4' | 'resolve6'): Promise<readonly string[]> =>
    turn(
      () =>
        ask<readonly string[]>(
          async (resolver) => (await resolver[method](name)).slice(0, maxRecords),
          () => [],
        ),
      [],
    );

  return {
    txt,
    addresses: async (name) => (await Promise.all([family(name, 'resolve4'), family(name, 'resolve6')])).flat(),
    close: () => {
      for (const resolver of underWay) resolver.cancel();
    },
  };
}
