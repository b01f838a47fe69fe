// Checks all ingress domains of a tunnel in one call: their addresses beside the region's, and their certificates.
// A look-up that fails leaves its domain without an answer; the call still succeeds.

import type { CheckedDomain, TunnelDomains } from '@underpass/rules/entity/resource.ts';
import { lookedUpName } from '@underpass/rules/names/dns-record.ts';
import { isWildcardName, parseHostname } from '@underpass/rules/names/hostname.ts';
import { parseIngressDomain } from '@underpass/rules/names/ingress-domain.ts';
import { decideDnsOutcome } from '@underpass/rules/screen/domain-state.ts';
import { tunnelTypes } from '@underpass/rules/tunnel/tunnel-type.ts';
import type { CertificatePort, NameCertificate } from '../../edges/certificate/port.ts';
import type { SilentZones } from '../../edges/dns/core/silent-zones.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries, Store } from '../../platform/store/store.ts';
import type { AreaHandlers, CallContext } from '../../request/caller/call.ts';
import { parseFlag } from '../../request/http/flag.ts';
import { orInvalid, orMissing, refuse } from '../../request/http/refusal.ts';
import { isUnderNew } from '../domain/look-up-right.ts';
import { createHostLookUps, type Found, type HostLookUps, type LookUpDeps } from './host-look-ups.ts';
import { noteMended } from './host-recheck.ts';
import { findTunnelRow, readHosts } from './tunnels.ts';

interface DomainCheckDeps extends LookUpDeps {
  readonly store: Pick<Store, 'db'>;
  readonly certificates: CertificatePort;
}

/** A call for one host also looks it up before its domain is verified. */
interface Asked {
  readonly hosts: readonly Schema['tunnel_hosts'][];
  readonly isOne: boolean;
}

const parseAsked = (asked: string): string =>
  isWildcardName(asked)
    ? orInvalid(parseIngressDomain(asked))
    : (parseHostname(asked) ?? refuse('invalid', 'Please enter a valid domain name.'));

async function askedHosts(db: Queries, tunnelId: string, asked: string | undefined): Promise<Asked> {
  const name = asked === undefined ? undefined : parseAsked(asked);
  const hosts = (await readHosts(db, [tunnelId])).get(tunnelId) ?? [];
  if (name === undefined) return { hosts, isOne: false };
  return {
    hosts: [
      orMissing(
        hosts.find(({ host }) => host === name),
        'Domain',
      ),
    ],
    isOne: true,
  };
}

async function dataPlaneHostOf(db: Queries, region: string): Promise<string> {
  const query = db.selectFrom('regions').select('data_plane_host').where('name', '=', region);
  return (await query.executeTakeFirstOrThrow()).data_plane_host;
}

/** Nothing is looked up for a generated name: its DNS is ours. */
async function findAddresses(lookUps: HostLookUps, host: Schema['tunnel_hosts'], mayLookUpNew: boolean): Promise<Found> {
  if (host.apex_name === '') return {};
  if (host.live_host !== null) return lookUps.shared(lookedUpName(host.host), host.apex_name);
  return mayLookUpNew ? lookUps.unproven(lookedUpName(host.host)) : { unchecked: 'unverified' };
}

/**
 * The hosts of silent zones come last, the one asked longest ago first: they hold every turn of the caller until the call ends.
 * Returns the answers in the order of `hosts`.
 */
async function checkSilentLast(
  hosts: readonly Schema['tunnel_hosts'][],
  { askedAt }: SilentZones,
  check: (host: Schema['tunnel_hosts']) => Promise<CheckedDomain>,
): Promise<readonly CheckedDomain[]> {
  const silent = hosts.flatMap((host) => {
    const at = askedAt(host.apex_name);
    return at === undefined ? [] : [{ host, at }];
  });
  const late = silent.sort((one, other) => one.at - other.at).map(({ host }) => host);
  const checked = await Promise.all(hosts.filter((host) => !late.includes(host)).map(check));
  const all = [...checked, ...(await Promise.all(late.map(check)))];
  return hosts.map(({ host }) => all.find(({ name }) => name === host)!);
}

const toCertificate = ({ until, ...facts }: NameCertificate): Pick<CheckedDomain, 'certificate'> => ({
  certificate: { ...facts, ...(until === undefined ? {} : { until: new Date(until).toISOString() }) },
});

function findMended(hosts: readonly Schema['tunnel_hosts'][], answer: TunnelDomains): readonly string[] {
  const fine = new Set(answer.domains.filter((each) => decideDnsOutcome(each, answer) === 'dns_ok').map(({ name }) => name));
  return hosts.filter(({ host, dns_missing_since }) => dns_missing_since !== null && fine.has(host)).map(({ host }) => host);
}

async function checkDomains(deps: DomainCheckDeps, context: CallContext<'checkTunnelDomains'>): Promise<TunnelDomains> {
  const { membership, caller, segments, query, nowMs } = context;
  const { db } = deps.store;
  const fresh = parseFlag('Fresh', query.fresh);
  const tunnel = orMissing(await findTunnelRow(db, membership.id, segments.name), 'Tunnel');
  const { hosts, isOne } = await askedHosts(db, tunnel.id, query.host);
  const dataPlaneHost = await dataPlaneHostOf(db, tunnel.region);
  const certified = tunnelTypes[tunnel.type].edgeEndsTls ? hosts.filter(({ live_host }) => live_host !== null) : [];
  const certificates = await deps.certificates.ofNames(certified.map(({ host }) => host));
  const lookUps = createHostLookUps(deps, caller, fresh);
  const check = async (host: Schema['tunnel_hosts']): Promise<CheckedDomain> => {
    const certificate = certificates.get(host.host);
    const mayLookUpNew = isOne && (await isUnderNew(db, membership.id, host.host, nowMs));
    const found = await findAddresses(lookUps, host, mayLookUpNew);
    return { name: host.host, ...found, ...(certificate && toCertificate(certificate)) };
  };
  try {
    const [ours, domains] = await Promise.all([
      lookUps.shared(dataPlaneHost, dataPlaneHost),
      checkSilentLast(hosts, deps.silentZones, check),
    ]);
    const answer: TunnelDomains = { dataPlaneHost, ...(ours.ips && { dataPlaneIps: ours.ips }), domains };
    await noteMended(db, findMended(hosts, answer));
    return answer;
  } finally {
    lookUps.end();
  }
}

export const domainCheckHandlers = { checkTunnelDomains: checkDomains } satisfies AreaHandlers<DomainCheckDeps>;
