// An ACME directory as an authority. The edges show the proofs of http-01 and tls-alpn-01, which they get through the feed;
// DNS shows those of dns-01, for wildcards.

import { setTimeout as sleep } from 'node:timers/promises';
import { isWildcardName } from '@underpass/rules/names/hostname.ts';
import type { FeedChallenge } from '@underpass/wire/feed/feed.ts';
import type { Authority, IssueRequest } from '../authority.ts';
import { keepFirst } from '../kept.ts';
import type { DnsUpdater } from '../rfc2136/updater.ts';
import { createAlpnCertificate } from '../x509.ts';
import { type AcmeClient, type ChallengeKind, createAcmeClient, type Proof } from './client.ts';
import { dnsProof, type ExternalAccount, readAccountKey } from './jws.ts';
import { AcmeError } from './problem.ts';
import { certificateIdOf } from './renewal-info.ts';

interface AcmeAuthorityDeps {
  readonly directory: string;
  readonly ca?: string;
  readonly email?: string;
  readonly externalAccount?: ExternalAccount;
  /** The account's key (PEM). */
  readonly accountKey: () => Promise<string>;
  /** Sends a challenge to the edges of a region and waits until they hold it; resolves with the function that takes it back. */
  readonly showAtEdges: (region: string, challenge: FeedChallenge) => Promise<() => Promise<void>>;
  readonly dns?: DnsUpdater;
  /** Proves wildcards of users: the zone to which their records lead, and what writes there. */
  readonly delegation?: { readonly zone: string } & Pick<DnsUpdater, 'change'>;
  readonly clock: () => number;
  /** How long secondary name servers may take to follow. */
  readonly dnsSettleMs?: number;
}

/** Both kinds prove the same. After a failure of one (port 80 closed, TLS ended elsewhere) the other comes first. */
function kindsFor(name: string, failures: number): readonly ChallengeKind[] {
  if (isWildcardName(name)) return ['dns-01'];
  return failures % 2 === 0 ? ['http-01', 'tls-alpn-01'] : ['tls-alpn-01', 'http-01'];
}

async function openClient({ directory, accountKey, ca, email, externalAccount }: AcmeAuthorityDeps): Promise<AcmeClient> {
  return createAcmeClient({
    directory,
    key: readAccountKey(await accountKey()),
    ...(ca === undefined ? {} : { ca }),
    ...(email === undefined ? {} : { email }),
    ...(externalAccount === undefined ? {} : { externalAccount }),
  });
}

async function showInDns(
  { dns: own, delegation, dnsSettleMs }: AcmeAuthorityDeps,
  proof: Proof,
  { signal, proofName }: IssueRequest,
): Promise<() => Promise<void>> {
  const dns = proofName === undefined ? own : delegation;
  if (dns === undefined) throw new AcmeError('refused', 'dns-01 needs the RFC 2136 settings');
  const record = { name: proofName ?? `_acme-challenge.${proof.host}`, value: dnsProof(proof.keyAuthorization) };
  const takeBack = (): Promise<void> => dns.change({ ...record, action: 'delete' });
  await dns.change({ ...record, action: 'add' });
  try {
    await sleep(dnsSettleMs ?? 5_000, undefined, { signal });
  } catch (aborted) {
    await takeBack();
    throw aborted;
  }
  return takeBack;
}

async function challengeOf({ kind, host, token, keyAuthorization }: Proof, nowMs: number): Promise<FeedChallenge> {
  // Tokens are base64url; the kind keeps two challenges of one host apart.
  const id = `${kind}-${token}`.slice(0, 100);
  if (kind === 'http-01') return { id, kind, host, token, keyAuthorization };
  const { certificatePem, privateKeyPem } = await createAlpnCertificate(host, keyAuthorization, nowMs);
  return { id, kind: 'tls-alpn-01', host, certificatePem, privateKeyPem };
}

export function createAcmeAuthority(deps: AcmeAuthorityDeps): Authority {
  const { directory, dns, clock } = deps;
  const client = keepFirst(() => openClient(deps));
  const show = async (proof: Proof, request: IssueRequest): Promise<() => Promise<void>> =>
    proof.kind === 'dns-01'
      ? showInDns(deps, proof, request)
      : deps.showAtEdges(request.region, await challengeOf(proof, clock()));
  const withinZone = (name: string): boolean => dns !== undefined && (name === dns.zone || name.endsWith(`.${dns.zone}`));

  return {
    id: directory,
    local: false,
    ...(deps.delegation === undefined ? {} : { delegationZone: deps.delegation.zone }),
    canIssue: (name) => !isWildcardName(name) || withinZone(name.slice(2)),
    issue: async (request) => {
      const { name, failures, signal } = request;
      const acme = await client.get();
      const replaces = request.replaces && (await certificateIdOf(request.replaces));
      return acme.order({
        name,
        kinds: kindsFor(name, failures),
        show: (proof) => show(proof, request),
        signal,
        ...(replaces ? { replaces } : {}),
      });
    },
    renewal: async (chainPem, signal) => {
      const id = await certificateIdOf(chainPem);
      return id === undefined ? undefined : (await client.get()).renewalInfo(id, signal);
    },
  };
}
