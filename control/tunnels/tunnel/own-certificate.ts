// The calls about the certificate that a project gives for an ingress domain of an http tunnel.

import type { OwnCertificate, OwnCertificateState } from '@underpass/rules/entity/resource.ts';
import { isWildcardName } from '@underpass/rules/names/hostname.ts';
import { parseIngressDomain } from '@underpass/rules/names/ingress-domain.ts';
import { tunnelTypes } from '@underpass/rules/tunnel/tunnel-type.ts';
import { findDelegation } from '../../edges/certificate/delegation.ts';
import type { CertificatePort } from '../../edges/certificate/port.ts';
import { describeChain, readOwnChain } from '../../edges/certificate/read-chain.ts';
import { changeFallback, deleteOwn, findOwn, type Owned, saveOwn } from '../../edges/own-certificate/own-rows.ts';
import { isoTime } from '../../platform/store/iso-time.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import { auditCall } from '../../request/caller/audit.ts';
import type { AreaHandlers, CallContext } from '../../request/caller/call.ts';
import { lockProject } from '../../request/caller/project-lock.ts';
import type { CallDeps } from '../../request/deps.ts';
import { orInvalid, orMissing, refuse } from '../../request/http/refusal.ts';
import { findTunnelRow, readHosts } from './tunnels.ts';

interface OwnCertificateDeps extends Pick<CallDeps, 'store' | 'keyRing' | 'feed'> {
  readonly certificates: Pick<CertificatePort, 'delegationZone'>;
}

type Context = Pick<CallContext<'getOwnCertificate'>, 'membership' | 'segments'>;

async function findDomain(db: Queries, { membership, segments }: Context): Promise<Owned> {
  const tunnel = orMissing(await findTunnelRow(db, membership.id, segments.name), 'Tunnel');
  const host = parseIngressDomain(segments.host);
  const hosts = (await readHosts(db, [tunnel.id])).get(tunnel.id) ?? [];
  const domain = orMissing(
    hosts.find((each) => host.ok && each.host === host.value),
    'Domain',
  );
  if (!tunnelTypes[tunnel.type].edgeEndsTls)
    refuse('invalid', `Tunnel '${tunnel.name}' passes TLS through: give the certificate to its upstream.`);
  if (domain.apex_name === '') refuse('invalid', `'${domain.host}' is a name of this service, which has a certificate for it.`);
  return { tunnelId: tunnel.id, host: domain.host };
}

const toOwnCertificate = (row: Schema['own_certificates']): OwnCertificate => ({
  ...describeChain(row.chain_pem),
  ...{ from: isoTime(row.starts_at), until: isoTime(row.expires_at), fallback: row.fallback === 1 },
  ...(row.warning === '' ? {} : { warning: row.warning }),
});

const getRow = async (db: Queries, { tunnelId, host }: Owned): Promise<Schema['own_certificates']> =>
  orMissing(await findOwn(db, tunnelId, host), 'Certificate');

type Change = Context & Pick<CallContext<'setOwnCertificate'>, 'caller' | 'address' | 'nowMs'>;

/** Runs the change under the project's lock, and tells the edges after it. */
async function change<T>(
  { store, feed }: OwnCertificateDeps,
  context: Change,
  work: (trx: Queries, domain: Owned) => Promise<T>,
): Promise<T> {
  const [tunnelId, made] = await store.write(async (trx) => {
    await lockProject(trx, context.membership.id);
    const domain = await findDomain(trx, context);
    return [domain.tunnelId, await work(trx, domain)] as const;
  });
  feed.tunnelsChanged([tunnelId]);
  return made;
}

async function getOwn({ store: { db }, certificates }: OwnCertificateDeps, context: Context): Promise<OwnCertificateState> {
  const { tunnelId, host } = await findDomain(db, context);
  const row = await findOwn(db, tunnelId, host);
  const { delegationZone: zone } = certificates;
  const delegation = zone !== undefined && isWildcardName(host) ? await findDelegation(db, host, zone) : undefined;
  return {
    ...(row === undefined ? {} : { certificate: toOwnCertificate(row) }),
    ...(delegation === undefined ? {} : { record: { name: delegation.name, value: delegation.target } }),
  };
}

async function setOwn(deps: OwnCertificateDeps, context: CallContext<'setOwnCertificate'>): Promise<OwnCertificate> {
  const { body, nowMs } = context;
  const { host } = await findDomain(deps.store.db, context);
  const { chain, privateKey, fallback = true } = body;
  const own = orInvalid(readOwnChain({ host, chain, privateKey }, nowMs));
  return change(deps, context, async (trx, domain) => {
    await saveOwn(trx, deps.keyRing, domain, own, fallback, nowMs);
    const made = toOwnCertificate(await getRow(trx, domain));
    const { fingerprint, until } = made;
    await auditCall(trx, context, 'certificate.set', host, { tunnel: context.segments.name, fingerprint, until, fallback });
    return made;
  });
}

const changeOwn = (deps: OwnCertificateDeps, context: CallContext<'changeOwnCertificate'>): Promise<OwnCertificate> =>
  change(deps, context, async (trx, domain) => {
    const { fallback } = context.body;
    const row = await getRow(trx, domain);
    if ((row.fallback === 1) === fallback) return toOwnCertificate(row);
    await changeFallback(trx, domain, fallback);
    await auditCall(trx, context, 'certificate.change', domain.host, { tunnel: context.segments.name, fallback });
    return toOwnCertificate(await getRow(trx, domain));
  });

const removeOwn = (deps: OwnCertificateDeps, context: CallContext<'deleteOwnCertificate'>): Promise<void> =>
  change(deps, context, async (trx, domain) => {
    const row = await getRow(trx, domain);
    await deleteOwn(trx, domain);
    const { fingerprint } = describeChain(row.chain_pem);
    await auditCall(trx, context, 'certificate.delete', domain.host, { tunnel: context.segments.name, fingerprint });
  });

export const ownCertificateHandlers = {
  ...{ getOwnCertificate: getOwn, setOwnCertificate: setOwn, changeOwnCertificate: changeOwn, deleteOwnCertificate: removeOwn },
} satisfies AreaHandlers<OwnCertificateDeps>;
