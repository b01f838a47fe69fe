// Reads from the store whom access policies admit now: for the edges, for sign-ins and for the test of a policy. Leaves out
// a policy that it cannot read; the caller then denies.

import { hourMs } from '@underpass/rules/limits.ts';
import type { MachineToken, VisitorGrants, VisitRules } from '@underpass/rules/visit/grants.ts';
import { policyLimits } from '@underpass/rules/visit/policy-limits.ts';
import type { KeyRing } from '../../platform/secret/key-ring.ts';
import { gather } from '../../platform/store/gather.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import { type PolicyContent, readContent, sessionSource } from './policy-content.ts';
import { openPolicyKeys, type PolicyKeys } from './policy-keys.ts';

export interface ReadPolicy extends VisitRules {
  readonly policyId: string;
  readonly projectId: string;
  readonly content: PolicyContent;
  readonly keys: PolicyKeys;
}

type PolicyRow = Pick<Schema['access_policies'], 'id' | 'project_id' | 'content' | 'keys_sealed' | 'password_id' | 'valid_from'>;

/** No session is older, so older sign-outs end nothing. */
const longestSessionMs = policyLimits.sessionHoursMost * hourMs;

async function readTokens(db: Queries, ids: readonly string[], nowMs: number): Promise<Map<string, MachineToken[]>> {
  const query = db.selectFrom('access_tokens').select(['policy_id', 'id', 'name', 'token_hash', 'expires_at']);
  const live = query.where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', nowMs)]));
  const rows = await live.where('policy_id', 'in', ids).orderBy('id').execute();
  return gather(rows, 'policy_id', ({ id, name, token_hash, expires_at }) => ({
    id,
    name,
    hash: token_hash,
    expiresAtMs: expires_at,
  }));
}

async function readLinks(db: Queries, ids: readonly string[], nowMs: number) {
  const query = db.selectFrom('access_links').select(['policy_id', 'id', 'expires_at']);
  const live = query.where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', nowMs)]));
  const rows = await live.where('policy_id', 'in', ids).orderBy('id').execute();
  return gather(rows, 'policy_id', ({ id, expires_at }) => ({ id, expiresAtMs: expires_at }));
}

async function readSignOuts(db: Queries, ids: readonly string[], nowMs: number) {
  const query = db.selectFrom('access_sign_outs').select(['policy_id', 'subject', 'at']);
  const recent = query.where('at', '>', nowMs - longestSessionMs).where('policy_id', 'in', ids);
  return gather(await recent.orderBy('subject').execute(), 'policy_id', ({ subject, at }) => ({ subject, atMs: at }));
}

/** Members by project. A suspended member may not sign in, so their sessions are over too. */
async function readMembers(db: Queries, projectIds: readonly string[]): Promise<Map<string, string[]>> {
  if (projectIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('members as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .select(['m.project_id', 'm.user_id'])
    .where('m.project_id', 'in', projectIds)
    .where('u.suspended_at', 'is', null)
    .orderBy('m.user_id')
    .execute();
  return gather(rows, 'project_id', (row) => row.user_id);
}

interface Readable {
  readonly row: PolicyRow;
  readonly content: PolicyContent;
  readonly keys: PolicyKeys;
}

function openRow(keyRing: KeyRing, row: PolicyRow): Readable[] {
  try {
    return [{ row, content: readContent(row.content), keys: openPolicyKeys(keyRing, row.id, row.keys_sealed) }];
  } catch {
    return [];
  }
}

const grantedProvider = ({ provider }: PolicyContent): VisitorGrants['provider'] =>
  provider === null ? null : { id: sessionSource(provider), people: provider.people, groups: provider.groups };

/** Policies by id. One query a table; a page of tunnels bounds the number of `ids`. */
export async function readPolicies(
  db: Queries,
  keyRing: KeyRing,
  ids: readonly string[],
  nowMs: number,
): Promise<ReadonlyMap<string, ReadPolicy>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('access_policies')
    .select(['id', 'project_id', 'content', 'keys_sealed', 'password_id', 'valid_from'])
    .where('id', 'in', ids)
    .execute();
  const open = rows.flatMap((row) => openRow(keyRing, row));
  const withMembers = open.filter(({ content }) => content.members).map(({ row }) => row.project_id);
  const [tokens, links, signOuts, members] = await Promise.all([
    readTokens(db, ids, nowMs),
    readLinks(db, ids, nowMs),
    readSignOuts(db, ids, nowMs),
    readMembers(db, [...new Set(withMembers)]),
  ]);
  const toPolicy = ({ row, content, keys }: Readable): ReadPolicy => ({
    ...{ policyId: row.id, projectId: row.project_id, content, keys },
    rules: content.rules,
    tokens: tokens.get(row.id) ?? [],
    tokenHeader: content.tokenHeader,
    grants: {
      memberIds: content.members ? (members.get(row.project_id) ?? []) : null,
      people: content.people,
      provider: grantedProvider(content),
      passwordId: row.password_id,
      links: links.get(row.id) ?? [],
      validFromMs: row.valid_from,
      signedOut: signOuts.get(row.id) ?? [],
    },
  });
  return new Map(open.map((each) => [each.row.id, toPolicy(each)]));
}
