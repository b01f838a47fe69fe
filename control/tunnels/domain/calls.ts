// The calls about domains, and DNS look-ups of the caller's own hosts (spec 7).

import type { DnsLookup, Domain } from '@underpass/rules/entity/entity.ts';
import type { DomainDns } from '@underpass/rules/entity/resource.ts';
import { domainList, parseListQuery } from '@underpass/rules/list/list-page.ts';
import { apexDomainMessage, parseApexDomain } from '@underpass/rules/names/apex-domain.ts';
import { parseHostname } from '@underpass/rules/names/hostname.ts';
import { renderInUse } from '@underpass/rules/text/in-use.ts';
import type { DnsPort } from '../../edges/dns/port.ts';
import { isOwnDomain, registrableDomain } from '../../edges/dns/registrable.ts';
import { type AwaitServingDeps, awaitServing } from '../../edges/feed/await-serving.ts';
import type { FeedPort } from '../../edges/feed/port.ts';
import { ownHosts } from '../../edges/region/regions.ts';
import type { Limiter } from '../../platform/limit/limiter.ts';
import type { Turns } from '../../platform/limit/turns.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries, Store } from '../../platform/store/store.ts';
import { takeAllowance, userShare } from '../../request/caller/allowance.ts';
import { auditCall } from '../../request/caller/audit.ts';
import type { AreaHandlers, CallContext } from '../../request/caller/call.ts';
import type { Membership } from '../../request/caller/membership.ts';
import { lockProject } from '../../request/caller/project-lock.ts';
import { takeQuota } from '../../request/caller/quota.ts';
import { answerPage } from '../../request/http/page.ts';
import { orInvalid, orMissing, refuse } from '../../request/http/refusal.ts';
import { refuseBlocked } from './blocked-names.ts';
import { adoptDomain, findDomain, insertDomain, readDomainPage, toDomain, tunnelsUnder } from './domains.ts';
import { decideLookUp } from './look-up-right.ts';
import { claimDomain } from './ownership.ts';

interface DomainDeps extends AwaitServingDeps {
  readonly store: Store;
  readonly feed: Pick<FeedPort, 'tunnelsChanged' | 'isServing' | 'edges' | 'onMoved'>;
  readonly limiter: Limiter;
  readonly dns: DnsPort;
  readonly dnsTurns: Turns;
  readonly origin: string;
}

const getRow = async (db: Queries, membership: Membership, apexName: string): Promise<Schema['domains']> =>
  orMissing(await findDomain(db, membership.id, apexName), 'Domain');

async function createDomain(deps: DomainDeps, context: CallContext<'createDomain'>): Promise<Domain> {
  const { membership, body, nowMs } = context;
  const apexName = orInvalid(parseApexDomain(body.name, registrableDomain));
  if (isOwnDomain(apexName, await ownHosts(deps.store.db, deps.origin))) refuse('invalid', apexDomainMessage);
  await deps.store.write(async (trx) => {
    await lockProject(trx, membership.id);
    if (await adoptDomain(trx, membership.id, apexName)) return auditCall(trx, context, 'domain.create', apexName);
    await refuseBlocked(trx, [apexName]);
    await takeQuota(trx, membership, 'domains');
    if (await findDomain(trx, membership.id, apexName)) refuse('conflict', `Domain '${apexName}' is already in this project`);
    await insertDomain(trx, membership.id, apexName, nowMs);
    await auditCall(trx, context, 'domain.create', apexName);
  });
  return toDomain(await getRow(deps.store.db, membership, apexName));
}

async function deleteDomain(deps: DomainDeps, context: CallContext<'deleteDomain'>): Promise<void> {
  const { membership, segments } = context;
  await deps.store.write(async (trx) => {
    await lockProject(trx, membership.id);
    const row = await getRow(trx, membership, segments.apexName);
    const names = (await tunnelsUnder(trx, membership.id, row.apex_name)).map((tunnel) => tunnel.name);
    if (names.length > 0) refuse('conflict', renderInUse('Domain', row.apex_name, names));
    await trx.deleteFrom('domains').where('id', '=', row.id).execute();
    await auditCall(trx, context, 'domain.delete', row.apex_name);
  });
}

async function verifyDomain(deps: DomainDeps, context: CallContext<'verifyDomain'>): Promise<Domain> {
  const { membership, caller, segments, nowMs } = context;
  const row = await getRow(deps.store.db, membership, segments.apexName);
  if (row.verified_at !== null) return toDomain(row);
  await takeAllowance(deps.limiter, 'dns', caller);
  await deps.store.write(async (trx) => {
    await lockProject(trx, membership.id);
    await adoptDomain(trx, membership.id, row.apex_name);
  });
  const answer = await deps.dnsTurns(userShare(caller), () => deps.dns.checkChallenge(row.apex_name, row.challenge));
  if (answer !== 'found') return toDomain(row);
  const domain = { id: row.id, projectId: membership.id, apexName: row.apex_name };
  const tunnelIds = await claimDomain(deps.store, domain, nowMs, (trx) =>
    auditCall(trx, context, 'domain.verify', row.apex_name),
  );
  deps.feed.tunnelsChanged(tunnelIds);
  await awaitServing(deps, tunnelIds);
  return toDomain(await getRow(deps.store.db, membership, segments.apexName));
}

async function lookUpDns(deps: DomainDeps, context: CallContext<'lookUpDns'>): Promise<DnsLookup> {
  const { caller, query, nowMs } = context;
  const host = parseHostname(query.host) ?? refuse('invalid', 'Please enter a valid domain name.');
  const whose = await decideLookUp(deps.store.db, caller, host, nowMs);
  if (whose === 'foreign') refuse('forbidden', 'Only names under verified or new domains of your projects can be looked up.');
  if (whose === 'new') await deps.limiter.take('newDomainDnsPerUser', userShare(caller));
  await takeAllowance(deps.limiter, 'dns', caller);
  const found = await deps.dnsTurns(userShare(caller), () => deps.dns.lookup(host));
  return { host, ips: found === 'unknown' ? [] : [...found] };
}

async function getDomainDns(deps: DomainDeps, context: CallContext<'getDomainDns'>): Promise<DomainDns> {
  const { membership, caller, segments } = context;
  const { providers } = deps.dns;
  const { apex_name } = await getRow(deps.store.db, membership, segments.apexName);
  let provider = providers.recent(apex_name);
  if (provider === undefined) {
    await takeAllowance(deps.limiter, 'dns', caller);
    provider = await deps.dnsTurns(userShare(caller), () => providers.ask(apex_name));
  }
  return provider === 'other' ? {} : { provider };
}

export const domainHandlers = {
  ...{ createDomain, deleteDomain, verifyDomain, getDomainDns, lookUpDns },
  listDomains: async ({ store }, { membership, query, request }) =>
    answerPage(request, await readDomainPage(store.db, membership.id, orInvalid(parseListQuery(query, domainList)))),
  getDomain: async ({ store }, { membership, segments }) => toDomain(await getRow(store.db, membership, segments.apexName)),
} satisfies AreaHandlers<DomainDeps>;
