// An ACME directory as an authority: proofs are shown by the edges (http-01, tls-alpn-01, through the feed) or by DNS
// (dns-01, for wildcards).

import { setTimeout as sleep } from 'node:timers/promises';
import type { FeedChallenge } from '@underpass/wire/feed.ts';
import type { Authority, IssueRequest } from '../authority.ts';
import { isWildcard } from '../core/wanted.ts';
import type { DnsUpdater } from '../rfc2136/updater.ts';
import { createAlpnCertificate } from '../x509.ts';
import { type AcmeClient, type ChallengeKind, createAcmeClient, type Proof } from './client.ts';
import { dnsProof, type ExternalAccount, readAccountKey } from './jws.ts';
import { AcmeError } from './problem.ts';
import { certificateIdOf } from './renewal-info.ts';

export interface AcmeAuthorityDeps {
  readonly directory: string;
  readonly ca?: string;
  readonly email?: string;
  readonly externalAccount?: ExternalAccount;
  /** The account's key (PEM), made at the first use. */
  readonly accountKey: () => Promise<string>;
  /** Puts a challenge to the edges of a region and waits until they hold it; answers how to take it back. */
  readonly showAtEdges: (region: string, challenge: FeedChallenge) => Promise<() => Promise<void>>;
  readonly dns?: DnsUpdater;
  readonly clock: () => number;
  /** For secondary name servers to follow. */
  readonly dnsSettleMs?: number;
}

/** Both kinds prove the same; where one failed (port 80 closed, TLS ended elsewhere) the other is tried. */
function kindsFor(name: string, failures: number): readonly ChallengeKind[] {
  if (isWildcard(name)) return ['dns-01'];
  return failures % 2 === 0 ? ['http-01', 'tls-alpn-01'] : ['tls-alpn-01', 'http-01'];
}

export function createAcmeAuthority(deps: AcmeAuthorityDeps): Authority {
  const { directory, dns } = deps;
  let client: Promise<AcmeClient> | undefined;

  const openClient = async (): Promise<AcmeClient> => {
    const key = readAccountKey(await deps.accountKey());
    const { ca, email, externalAccount } = deps;
    return createAcmeClient({
      directory,
      key,
      ...(ca === undefined ? {} : { ca }),
      ...(email === undefined ? {} : { email }),
      ...(externalAccount === undefined ? {} : { externalAccount }),
    });
  };

  const theClient = (): Promise<AcmeClient> => {
    client ??= openClient().catch((error) => {
      client = undefined;
      throw error;
    });
    return client;
  };

  const showInDns = async (proof: Proof, signal: AbortSignal): Promise<() => Promise<void>> => {
    if (dns === undefined) throw new AcmeError('refused', 'dns-01 needs the RFC 2136 settings');
    const record = { name: `_acme-challenge.${proof.host}`, value: dnsProof(proof.keyAuthorization) };
    await dns.change({ ...record, action: 'add' });
    await sleep(deps.dnsSettleMs ?? 5_000, undefined, { signal });
    return () => dns.change({ ...record, action: 'delete' });
  };

  const challengeOf = async ({ kind, host, token, keyAuthorization }: Proof): Promise<FeedChallenge> => {
    // Tokens are base64url; the name keeps two challenges of one host apart.
    const id = `${kind}-${token}`.slice(0, 100);
    if (kind === 'http-01') return { id, kind, host, token, keyAuthorization };
    const { certificatePem, privateKeyPem } = await createAlpnCertificate(host, keyAuthorization, deps.clock());
    return { id, kind: 'tls-alpn-01', host, certificatePem, privateKeyPem };
  };

  const show = async (proof: Proof, { region, signal }: IssueRequest): Promise<() => Promise<void>> =>
    proof.kind === 'dns-01' ? showInDns(proof, signal) : deps.showAtEdges(region, await challengeOf(proof));

  const withinZone = (name: string): boolean => dns !== undefined && (name === dns.zone || name.endsWith(`.${dns.zone}`));

  return {
    id: directory,
    local: false,
    canIssue: (name) => !isWildcard(name) || withinZone(name.slice(2)),
    issue: async (request) => {
      const { name, failures, signal } = request;
      const acme = await theClient();
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
      return id === undefined ? undefined : (await theClient()).renewalInfo(id, signal);
    },
  };
}
