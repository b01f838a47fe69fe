// Asks name servers for TXT, A and AAAA records. Bounds the time, the questions at once and the questions that wait.
// Network errors become answers: it never throws for them.

import { Resolver } from 'node:dns/promises';
import type { TxtAnswer } from './core/challenge.ts';

export interface NameServer {
  readonly address: string;
  readonly port: number;
}

export interface ResolverOptions {
  /** Empty means the system's. */
  readonly servers: readonly NameServer[];
  /** For one question, retries included. */
  readonly timeoutMs?: number;
}

export interface RecordResolver {
  readonly txt: (name: string) => Promise<TxtAnswer>;
  /** A and AAAA together; empty when there are none or no answer came. */
  readonly addresses: (name: string) => Promise<readonly string[]>;
  /** Ends the questions under way. */
  readonly close: () => void;
}

const defaultTimeoutMs = 5_000;
/** Questions under way at once; each holds a socket for at most timeoutMs. */
const maxAtOnce = 32;
/** Questions that wait for their turn. The next gets "unknown" at once. */
const maxWaiting = 512;
/** Records read from one answer; the others are ignored. */
const maxRecords = 1_000;

/** c-ares' codes for an answer without records. */
const negativeCodes = new Set(['ENOTFOUND', 'ENODATA']);

const serverText = ({ address, port }: NameServer): string =>
  address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

/** Runs at most `maxAtOnce`; the others wait in order, and get `turnedAway` when too many wait. */
function createConcurrencyLimit(): <T>(run: () => Promise<T>, turnedAway: T) => Promise<T> {
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

type Ask = <T>(question: (resolver: Resolver) => Promise<T>, otherwise: (code: string) => T) => Promise<T>;

/** A resolver of its own for each question, because cancel() ends all of a resolver's questions. */
function createAsk({ servers, timeoutMs = defaultTimeoutMs }: ResolverOptions, underWay: Set<Resolver>): Ask {
  return async (question, otherwise) => {
    const resolver = new Resolver({ timeout: Math.ceil(timeoutMs / 3), tries: 2 });
    if (servers.length > 0) resolver.setServers(servers.map(serverText));
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
}

export function createResolver(options: ResolverOptions): RecordResolver {
  const limited = createConcurrencyLimit();
  const underWay = new Set<Resolver>();
  const ask = createAsk(options, underWay);

  const txt = (name: string): Promise<TxtAnswer> =>
    limited<TxtAnswer>(
      () =>
        ask<TxtAnswer>(
          async (resolver) => (await resolver.resolveTxt(name)).slice(0, maxRecords),
          (code) => (negativeCodes.has(code) ? [] : 'unknown'),
        ),
      'unknown',
    );

  const family = (name: string, method: 'resolve4' | 'resolve6'): Promise<readonly string[]> =>
    limited(
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
