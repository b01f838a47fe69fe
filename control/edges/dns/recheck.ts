// The daily re-check of verified domains: a few at a time, by one control process at a time. The caller's `onLost` runs inside
// the transaction that takes a lost domain away.

import type { PlatformDeps } from '../../platform/deps.ts';
import { forEachAtOnce } from '../../platform/job/at-once.ts';
import { isTimeInDoubt } from '../../platform/store/known-time.ts';
import type { WithLease } from '../../platform/store/lease.ts';
import { type Queries, takeProjectLock } from '../../platform/store/store.ts';
import { decideOwnership, type OwnershipDecision, recheckEveryMs } from './core/ownership.ts';
import type { DnsPort } from './port.ts';

interface VerifiedDomain {
  readonly id: string;
  readonly projectId: string;
  readonly apexName: string;
}

interface RecheckDeps extends Pick<PlatformDeps, 'store' | 'clock' | 'log'> {
  readonly dns: Pick<DnsPort, 'checkChallenge'>;
  readonly withLease: WithLease;
  /** Takes down routes, queues mails and writes the audit row in the same transaction. Returns what to do after it. */
  readonly onLost: (trx: Queries, domain: VerifiedDomain) => Promise<() => void>;
}

/** A pass every few minutes covers tens of thousands of domains a day. */
const domainsPerPass = 200;
const atOnce = 8;

interface DueRow extends VerifiedDomain {
  readonly challenge: string;
  readonly misses: number;
  readonly firstMissedAt: number | null;
}

const dueDomains = (db: Queries, before: number): Promise<DueRow[]> =>
  db
    .selectFrom('domains')
    .select(['id', 'project_id as projectId', 'apex_name as apexName', 'challenge', 'misses', 'first_missed_at as firstMissedAt'])
    .where('verified_at', 'is not', null)
    .where((eb) => eb.or([eb('checked_at', 'is', null), eb('checked_at', '<=', before)]))
    .orderBy('checked_at')
    .limit(domainsPerPass)
    .execute();

function noted(decision: Exclude<OwnershipDecision, { kind: 'lost' }>) {
  if (decision.kind === 'kept') return { misses: 0, first_missed_at: null };
  return decision.kind === 'missed' ? { misses: decision.misses, first_missed_at: decision.firstMissedAt } : {};
}

async function lose({ store, onLost }: RecheckDeps, domain: DueRow, now: number): Promise<void> {
  const after = await store.write(async (trx) => {
    // Every write of hosts takes this lock: no host goes live under an apex that is being lost.
    await takeProjectLock(trx, domain.projectId);
    const lost = await trx
      .updateTable('domains')
      .set({ verified_at: null, owned_apex: null, checked_at: now, misses: 0, first_missed_at: null })
      .where('id', '=', domain.id)
      .returning('id')
      .executeTakeFirst();
    return lost === undefined ? undefined : onLost(trx, domain);
  });
  after?.();
}

/** `now` is the trusted time at the start of the pass: the clock may jump during the DNS queries. */
async function checkOne(deps: RecheckDeps, domain: DueRow, now: number): Promise<void> {
  const { store, dns } = deps;
  const answer = await dns.checkChallenge(domain.apexName, domain.challenge);
  const decision = decideOwnership(answer, domain, now);
  if (decision.kind === 'lost') return lose(deps, domain, now);
  await store.db
    .updateTable('domains')
    .set({ checked_at: now, ...noted(decision) })
    .where('id', '=', domain.id)
    .where('verified_at', 'is not', null)
    .execute();
}

const checkAll = (deps: RecheckDeps, due: readonly DueRow[], now: number): Promise<void> =>
  forEachAtOnce(due, atOnce, (domain) =>
    checkOne(deps, domain, now).catch((error: unknown) =>
      deps.log.error({ err: error }, 'dns: a domain could not be re-checked'),
    ),
  );

interface Recheck {
  /** One pass over the domains that are due; returns how many it checked. */
  readonly run: () => Promise<number>;
}

export function createRecheck(deps: RecheckDeps): Recheck {
  const { store, clock, log } = deps;
  return {
    run: async () => {
      let checked = 0;
      const now = clock();
      // A domain is lost after 72 hours, and a clock that jumped does not tell how many have passed.
      if (await isTimeInDoubt(store, now, log)) return checked;
      await deps.withLease('domain-recheck', async () => {
        const due = await dueDomains(store.db, now - recheckEveryMs);
        await checkAll(deps, due, now);
        checked = due.length;
      });
      return checked;
    },
  };
}
