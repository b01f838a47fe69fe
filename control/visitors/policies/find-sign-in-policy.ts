// The access policy that guards a host: what sign-ins, programs and the test of a policy begin with.

import { isCanonicalHostname, servingNames } from '@underpass/rules/names/hostname.ts';
import type { VisitRules } from '@underpass/rules/visit/grants.ts';
import { orphanedProjects } from '../../edges/feed/region-content.ts';
import type { PolicyContent } from '../../edges/policies/policy-content.ts';
import { knownBrowserKeyOf, visitKeyOf } from '../../edges/policies/policy-keys.ts';
import { readPolicies } from '../../edges/policies/visit-rules.ts';
import type { KeyRing } from '../../platform/secret/key-ring.ts';
import type { Queries } from '../../platform/store/store.ts';

export interface SignInPolicy extends VisitRules {
  readonly tunnelId: string;
  readonly projectId: string;
  readonly projectName: string;
  readonly policyId: string;
  readonly policyName: string;
  readonly host: string;
  /** The host's public https address, without a trailing slash. */
  readonly url: string;
  readonly content: PolicyContent;
  readonly visitKey: Buffer;
  readonly knownBrowserKey: Buffer;
  readonly log: boolean;
  /** Null: no password (edges/policies/password.ts). */
  readonly passwordHash: string | null;
  /** Sealed; null: no provider, or one without a secret (edges/policies/policy-keys.ts). */
  readonly providerSecretSealed: string | null;
  readonly securityGroup: { readonly name: string; readonly allowList: string };
}

/** The host itself, or the wildcard that stands for it: as edges choose, an exact name comes first, whatever its tunnel is. */
async function findLiveHost(db: Queries, host: string): Promise<string | undefined> {
  const names = servingNames(host);
  const rows = await db.selectFrom('tunnel_hosts').select('live_host').where('live_host', 'in', names).execute();
  return names.find((name) => rows.some(({ live_host }) => live_host === name));
}

const findRow = (db: Queries, liveHost: string) =>
  db
    .selectFrom('tunnel_hosts as h')
    .innerJoin('tunnels as t', 't.id', 'h.tunnel_id')
    .innerJoin('projects as p', 'p.id', 't.project_id')
    .innerJoin('regions as r', 'r.name', 't.region')
    .innerJoin('security_groups as g', 'g.id', 't.security_group_id')
    .innerJoin('access_policies as a', 'a.id', 't.access_policy_id')
    .select(['t.id as tunnel_id', 'p.id as project_id', 'p.name as project_name', 'a.id as policy_id', 'a.name as policy_name'])
    .select([
      'a.password_hash',
      'a.provider_secret_sealed',
      'r.name as region',
      'r.https_port',
      'g.name as group_name',
      'g.allow_list',
    ])
    .where('h.live_host', '=', liveHost)
    .where('t.type', '=', 'http')
    .where('t.suspended_at', 'is', null)
    .where('p.suspended_at', 'is', null)
    .executeTakeFirst();

/** `host`: lower case, without a port. Undefined: no such host, no policy, suspended, or unreadable. */
export async function findSignInPolicy(
  db: Queries,
  keyRing: KeyRing,
  host: string,
  nowMs: number,
): Promise<SignInPolicy | undefined> {
  const liveHost = isCanonicalHostname(host) ? await findLiveHost(db, host) : undefined;
  const row = liveHost === undefined ? undefined : await findRow(db, liveHost);
  if (row === undefined || (await orphanedProjects(db, [row.project_id])).size > 0) return undefined;
  const policy = (await readPolicies(db, keyRing, [row.policy_id], nowMs)).get(row.policy_id);
  if (policy === undefined) return undefined;
  const { content, keys, rules, grants, tokens, tokenHeader } = policy;
  return {
    ...{ tunnelId: row.tunnel_id, projectId: row.project_id, projectName: row.project_name },
    ...{ policyId: row.policy_id, policyName: row.policy_name, content, log: content.log },
    ...{ rules, grants, tokens, tokenHeader },
    host,
    url: `https://${host}${row.https_port === 443 ? '' : `:${row.https_port}`}`,
    visitKey: visitKeyOf(keys, row.region),
    knownBrowserKey: knownBrowserKeyOf(keys),
    passwordHash: row.password_hash,
    providerSecretSealed: row.provider_secret_sealed,
    securityGroup: { name: row.group_name, allowList: row.allow_list },
  };
}
