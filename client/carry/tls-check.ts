// Detects an http upstream that speaks TLS: by the first bytes of its answer, or by a handshake if the bytes do not decide.

import { formatUpstream, type Upstream } from '@underpass/rules/tunnel/upstream.ts';
import type { SessionClock } from '@underpass/wire/clock.ts';
import { openSocket } from './upstream-socket.ts';

/** A TLS server answers plain HTTP with an alert, with a 400 of its own, or not at all. */
export function judgeFirst(first: Buffer | null): 'tls' | 'plain' | 'unclear' {
  if (first === null) return 'unclear';
  if (first[0] === alertRecord) return 'tls';
  return /^HTTP\/1\.[01] 400/.test(first.toString('latin1', 0, 12)) ? 'unclear' : 'plain';
}

/** RFC 8446 5.1, ContentType. */
const alertRecord = 21;

export interface TlsCheck {
  /** The upstream has answered in plain HTTP, so later unclear answers do not count as TLS. */
  markPlain(upstream: Upstream): void;
  isPlain(upstream: Upstream): boolean;
  speaksTls(upstream: Upstream, preface: Uint8Array): Promise<boolean>;
}

/** The time between two handshakes with an upstream, however many visitors get an unclear answer. */
const askEveryMs = 60_000;

export function createTlsCheck(clock: Pick<SessionClock, 'now'>): TlsCheck {
  const plain = new Set<string>();
  const asked = new Map<string, { readonly atMs: number; readonly answer: Promise<boolean> }>();
  return {
    markPlain: (upstream) => void plain.add(formatUpstream(upstream)),
    isPlain: (upstream) => plain.has(formatUpstream(upstream)),
    speaksTls(upstream, preface) {
      const key = formatUpstream(upstream);
      const before = asked.get(key);
      if (before !== undefined && clock.now() - before.atMs < askEveryMs) return before.answer;
      const answer = speaksTls(upstream, preface);
      asked.set(key, { atMs: clock.now(), answer });
      return answer;
    },
  };
}

const handshakeTimeoutMs = 3_000;

/** Does not check the certificate. An alert also shows that the upstream speaks TLS. */
export function speaksTls(upstream: Upstream, preface: Uint8Array): Promise<boolean> {
  const socket = openSocket({ ...upstream, scheme: 'https' }, { caPem: undefined, insecure: true }, preface);
  return new Promise((resolve) => {
    const settle = (answer: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(() => settle(false), handshakeTimeoutMs);
    socket.once('secureConnect', () => settle(true));
    socket.on('error', ({ code = '' }: NodeJS.ErrnoException) => settle(/^ERR_SSL_.*ALERT/.test(code)));
    socket.once('close', () => settle(false));
  });
}
