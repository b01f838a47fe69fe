// Asks name servers for TXT, A, AAAA and NS records. Bounds the time, the questions at once and the questions that wait.
// Network errors become answers: it never throws for them.

import { Resolver } from 'node:dns/promises';
import { inBrackets } from '@underpass/rules/address/address.ts';
import { LimitReached } from '../../platform/limit/limit-reached.ts';
import { createTurns } from '../../platform/limit/turns.ts';
import type { TxtAnswer } from './core/challenge.ts';

export interface NameServer {
  readonly address: string;
  readonly port: number;
}

interface ResolverOptions {
  /** Empty means the system's. */
  readonly servers: readonly NameServer[];
  /** Time for one question, retries included. */
  readonly timeoutMs?: number;
}

/** `unknown`: no usable answer (SERVFAIL, time-out, too many questions). It says nothing about the name. */
export type DnsAnswer = readonly string[] | 'unknown';

export interface RecordResolver {
  readonly txt: (name: string) => Promise<TxtAnswer>;
  /** A and AAAA, each an answer of its own. */
  readonly addresses: (name: string) => Promise<readonly [a: DnsAnswer, aaaa: DnsAnswer]>;
  readonly nameServers: (zone: string) => Promise<DnsAnswer>;
  readonly aliases: (name: string) => Promise<DnsAnswer>;
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

const serverText = ({ address, port }: NameServer): string => `${inBrackets(address)}:${port}`;

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

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
  const turns = createTurns(maxAtOnce, maxWaiting, '');
  const underWay = new Set<Resolver>();
  const ask = createAsk(options, underWay);

  const records = <T>(question: (resolver: Resolver) => Promise<readonly T[]>): Promise<readonly T[] | 'unknown'> =>
    turns('all', () =>
      ask<readonly T[] | 'unknown'>(
        async (resolver) => (await question(resolver)).slice(0, maxRecords),
        (code) => (negativeCodes.has(code) ? [] : 'unknown'),
      ),
    ).catch((error) => {
      if (error instanceof LimitReached) return 'unknown';
      throw error;
    });

  return {
    txt: (name) => records((resolver) => resolver.resolveTxt(name)),
    addresses: (name) =>
      Promise.all([records((resolver) => resolver.resolve4(name)), records((resolver) => resolver.resolve6(name))]),
    nameServers: (zone) => records((resolver) => resolver.resolveNs(zone)),
    aliases: (name) => records((resolver) => resolver.resolveCname(name)),
    close: () => {
      for (const resolver of underWay) resolver.cancel();
    },
  };
}
