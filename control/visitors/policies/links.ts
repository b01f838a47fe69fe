// Share links. The secret is the fragment of the address, which no server sees, and is stored as a hash.

import { hourMs, limits } from '@underpass/rules/limits.ts';
import { parseApiTokenName } from '@underpass/rules/text/project-name.ts';
import type { AccessLink } from '@underpass/rules/visit/access-policy.ts';
import { policyLimits } from '@underpass/rules/visit/policy-limits.ts';
import { createToken, hashToken } from '../../platform/secret/token.ts';
import { createId } from '../../platform/store/id.ts';
import { isoOrNull } from '../../platform/store/iso-time.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import { auditCall } from '../../request/caller/audit.ts';
import type { CallContext } from '../../request/caller/call.ts';
import { orInvalid, orMissing, refuse } from '../../request/http/refusal.ts';
import { changeGrants, getPolicyRow, type PolicyDeps } from './write-policy.ts';

const mostHours = 24 * limits.apiTokenDays;

const toLink = (row: Schema['access_links']): AccessLink => ({
  id: row.id,
  name: row.name,
  createdBy: row.created_by,
  createdAt: new Date(row.created_at).toISOString(),
  expiresAt: isoOrNull(row.expires_at),
  uses: row.uses,
  mostUses: row.most_uses,
  usedAt: isoOrNull(row.used_at),
});

export async function listLinks(
  { store: { db } }: PolicyDeps,
  { membership, segments }: CallContext<'listAccessLinks'>,
): Promise<readonly AccessLink[]> {
  const { id } = await getPolicyRow(db, membership, segments.name);
  const rows = await db.selectFrom('access_links').selectAll().where('policy_id', '=', id).orderBy('id').execute();
  return rows.map(toLink);
}

function parseCount(count: number | undefined, most: number, message: string): number | null {
  if (count === undefined) return null;
  return Number.isInteger(count) && count >= 1 && count <= most ? count : refuse('invalid', message);
}

/** Host and port of each address at which visitors reach a tunnel of the policy. */
async function authorities(db: Queries, policyId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('tunnel_hosts as h')
    .innerJoin('tunnels as t', 't.id', 'h.tunnel_id')
    .innerJoin('regions as r', 'r.name', 't.region')
    .select(['h.host', 'r.https_port'])
    .where('t.access_policy_id', '=', policyId)
    .where('h.live_host', 'is not', null)
    // A wildcard is no address.
    .where('h.live_host', 'not like', '*.%')
    .orderBy('t.id')
    .orderBy('h.position')
    .execute();
  return rows.map(({ host, https_port: port }) => (port === 443 ? host : `${host}:${port}`));
}

export async function addLink(deps: PolicyDeps, context: CallContext<'createAccessLink'>) {
  const { caller, body, nowMs } = context;
  const name = orInvalid(parseApiTokenName(body.name));
  const hours = parseCount(body.expiresInHours, mostHours, `A link may live from 1 to ${mostHours} hours.`);
  const uses = parseCount(body.mostUses, policyLimits.linkUses, `A link may have from 1 to ${policyLimits.linkUses} uses.`);
  const expiresAt = hours === null ? null : nowMs + hours * hourMs;
  return changeGrants(deps, context, async (trx, policy) => {
    if (Number(policy.links) >= policyLimits.links)
      refuse('conflict', `An access policy may have at most ${policyLimits.links} links. Delete some.`);
    const hosts = await authorities(trx, policy.id);
    if (hosts.length === 0)
      refuse(
        'conflict',
        'A link needs an address, and a wildcard is none. Attach the policy to an http tunnel that has one first.',
      );
    const secret = createToken();
    const row = {
      ...{ id: createId(nowMs), policy_id: policy.id, name, secret_hash: hashToken(secret), uses: 0, most_uses: uses },
      ...{ used_at: null, created_by: caller.email, created_at: nowMs, expires_at: expiresAt },
    };
    await trx.insertInto('access_links').values(row).execute();
    const detail = { link: name, expiresAt: isoOrNull(expiresAt), mostUses: uses };
    await auditCall(trx, context, 'access-policy.create-link', policy.name, detail);
    const urls = hosts.map((host) => `${deps.origin}/access/link?host=${encodeURIComponent(host)}#${secret}`);
    return { ...toLink(row), urls };
  });
}

/** The sessions that began with the link end too. */
export const removeLink = (deps: PolicyDeps, context: CallContext<'deleteAccessLink'>): Promise<void> =>
  changeGrants(deps, context, async (trx, policy) => {
    const own = trx.deleteFrom('access_links').where('policy_id', '=', policy.id);
    const row = await own.where('id', '=', context.segments.id).returning('name').executeTakeFirst();
    const { name } = orMissing(row, 'Share link');
    await auditCall(trx, context, 'access-policy.delete-link', policy.name, { link: name });
  });
