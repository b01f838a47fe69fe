// When the authority advises to renew each certificate: asked from time to time, kept in memory.

import { hourMs } from '@underpass/rules/limits.ts';
import type { PlatformDeps } from '../../platform/deps.ts';
import type { Authority } from './authority.ts';
import { isDue, momentIn } from './core/renewal.ts';
import type { HeldCertificate } from './core/wanted.ts';

export interface RenewalAdvice {
  /** Asks about the certificates that are due for a question. After a failure it asks again only at the next regular time. */
  refresh(certificates: readonly HeldCertificate[], signal: AbortSignal): Promise<void>;
  isDue(certificate: HeldCertificate): boolean;
  /** Forgets every other name: names come and go with their tunnels, without end. */
  keepOnly(names: ReadonlySet<string>): void;
}

interface Known {
  /** Identifies the certificate: its successor gets a new question. */
  readonly startsAt: number;
  readonly moment: number | undefined;
  readonly askAt: number;
}

/** RFC 9773 4.3.2: six hours if the authority gives no time, or did not answer. */
const askAgainMs = 6 * hourMs;
/** Questions of one pass; passes come every minute. */
const askedAtOnce = 50;

interface RenewalAdviceDeps extends Pick<PlatformDeps, 'store' | 'clock' | 'log'> {
  readonly authority: Authority;
}

export function createRenewalAdvice({ store, authority, clock, log }: RenewalAdviceDeps): RenewalAdvice {
  const known = new Map<string, Known>();
  const adviceOn = ({ name, startsAt }: HeldCertificate): Known | undefined => {
    const found = known.get(name);
    return found?.startsAt === startsAt ? found : undefined;
  };

  const ask = async ({ name, startsAt }: HeldCertificate, signal: AbortSignal): Promise<void> => {
    const row = await store.db.selectFrom('certificates').select('chain_pem').where('name', '=', name).executeTakeFirst();
    const before = known.get(name);
    const moment = before?.startsAt === startsAt ? before.moment : undefined;
    try {
      const info = row === undefined ? undefined : await authority.renewal?.(row.chain_pem, signal);
      const next = info === undefined ? undefined : momentIn(info.window, name);
      if (next !== undefined && next !== moment)
        log.info({ name, renewAt: new Date(next).toISOString() }, 'certificates: the authority says when to renew');
      known.set(name, { startsAt, moment: next, askAt: clock() + (info?.askAgainMs ?? askAgainMs) });
    } catch (error) {
      known.set(name, { startsAt, moment, askAt: clock() + askAgainMs });
      log.warn({ name, err: error }, 'certificates: no advice on renewal');
    }
  };

  return {
    refresh: async (certificates, signal) => {
      if (authority.renewal === undefined) return;
      const own = certificates.filter((each) => each.issuer === authority.id && clock() >= (adviceOn(each)?.askAt ?? 0));
      for (const certificate of own.slice(0, askedAtOnce)) if (!signal.aborted) await ask(certificate, signal);
    },
    keepOnly: (names) => {
      for (const name of known.keys()) if (!names.has(name)) known.delete(name);
    },
    isDue: (certificate) => isDue(certificate, adviceOn(certificate)?.moment, clock()),
  };
}
