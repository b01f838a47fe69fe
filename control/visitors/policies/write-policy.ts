// Makes, changes and deletes access policies.

import { renderInUse } from '@underpass/rules/text/in-use.ts';
import { parseObjectName } from '@underpass/rules/text/object-name.ts';
import type { AccessPolicy } from '@underpass/rules/visit/access-policy.ts';
import { type PolicyContent, writeContent } from '../../edges/policies/policy-content.ts';
import { createPolicyKeys, providerSecretContext } from '../../edges/policies/policy-keys.ts';
import type { KeyRing } from '../../platform/secret/key-ring.ts';
import { createId } from '../../platform/store/id.ts';
import type { Queries } from '../../platform/store/store.ts';
import { auditCall } from '../../request/caller/audit.ts';
import type { CallContext } from '../../request/caller/call.ts';
import type { Membership } from '../../request/caller/membership.ts';
import { findNameAlike } from '../../request/caller/name-alike.ts';
import { lockProject } from '../../request/caller/project-lock.ts';
import { takeQuota } from '../../request/caller/quota.ts';
import type { CallDeps } from '../../request/deps.ts';
import { nextUpdate, refuseStale } from '../../request/http/if-match.ts';
import { orInvalid, orMissing, refuse } from '../../request/http/refusal.ts';
import { attachedTunnels, contentOf, findPolicy, type PolicyRow, readPolicy } from './policies.ts';
import { describeChange, newContent, type PolicyChange, parseChange, refuseMovedSecret } from './policy-change.ts';

export interface PolicyDeps extends Pick<CallDeps, 'store' | 'keyRing' | 'feed' | 'origin'> {
  readonly settings: { readonly production: boolean };
}

export const getPolicy = async (db: Queries, membership: Membership, name: string): Promise<AccessPolicy> =>
  orMissing(await readPolicy(db, membership.id, name), 'Access policy');

export const getPolicyRow = async (db: Queries, membership: Membership, name: string): Promise<PolicyRow> =>
  orMissing(await findPolicy(db, membership.id, name), 'Access policy');

const optionsOf = ({ settings }: PolicyDeps) => ({ plainLoopback: !settings.production });

/** The columns that a change sets. A new password gets a new id, which ends the sessions of the old one. */
function columnsOf(keyRing: KeyRing, id: string, content: PolicyContent, change: PolicyChange, nowMs: number) {
  const { clientSecret, passwordHash } = change;
  const seal = (secret: string): string => keyRing.seal(secret, providerSecretContext(id));
  return {
    content: writeContent(content),
    ...(clientSecret === undefined ? {} : { provider_secret_sealed: clientSecret === null ? null : seal(clientSecret) }),
    ...(passwordHash === undefined
      ? {}
      : { password_hash: passwordHash, password_id: passwordHash === null ? null : createId(nowMs) }),
  };
}

export async function createPolicy(deps: PolicyDeps, context: CallContext<'createAccessPolicy'>): Promise<AccessPolicy> {
  const { membership, body, nowMs } = context;
  const name = orInvalid(parseObjectName(body.name));
  const change = await parseChange(body, optionsOf(deps));
  const content = { ...newContent, ...change.content };
  await deps.store.write(async (trx) => {
    // takeQuota also locks the project, so only one of two calls finds the name free.
    await takeQuota(trx, membership, 'accessPolicies');
    const alike = await findNameAlike(trx, 'access_policies', membership.id, name);
    if (alike !== undefined) refuse('conflict', `Access policy '${alike}' already exists`);
    const id = createId(nowMs);
    const none = { provider_secret_sealed: null, password_hash: null, password_id: null };
    await trx
      .insertInto('access_policies')
      .values({
        ...{ id, project_id: membership.id, name, valid_from: nowMs, created_at: nowMs, updated_at: nowMs },
        ...none,
        ...columnsOf(deps.keyRing, id, content, change, nowMs),
        ...createPolicyKeys(deps.keyRing, id),
      })
      .execute();
    await auditCall(trx, context, 'access-policy.create', name, describeChange(newContent, content, change));
  });
  return getPolicy(deps.store.db, membership, name);
}

/** Saving the values that the policy already has changes nothing: no audit row, no message to the edges. */
export async function updatePolicy(deps: PolicyDeps, context: CallContext<'updateAccessPolicy'>): Promise<AccessPolicy> {
  const { membership, body, segments, nowMs } = context;
  const change = await parseChange(body, optionsOf(deps));
  const tunnels = await deps.store.write(async (trx) => {
    await lockProject(trx, membership.id);
    const row = await getPolicyRow(trx, membership, segments.name);
    const before = contentOf(row);
    const after = { ...before, ...change.content };
    refuseMovedSecret(before, change, row.provider_secret_sealed !== null);
    const detail = describeChange(before, after, change);
    if (Object.keys(detail).length === 0) return [];
    refuseStale(context.request, row.updated_at, `Access policy '${row.name}'`);
    const columns = columnsOf(deps.keyRing, row.id, after, change, nowMs);
    const set = { ...columns, updated_at: nextUpdate(row.updated_at, nowMs) };
    await trx.updateTable('access_policies').set(set).where('id', '=', row.id).execute();
    await auditCall(trx, context, 'access-policy.update', row.name, detail);
    return attachedTunnels(trx, row.id);
  });
  deps.feed.tunnelsChanged(tunnels.map((tunnel) => tunnel.id));
  return getPolicy(deps.store.db, membership, segments.name);
}

export async function deletePolicy(deps: PolicyDeps, context: CallContext<'deleteAccessPolicy'>): Promise<void> {
  const { membership, segments } = context;
  await deps.store.write(async (trx) => {
    await lockProject(trx, membership.id);
    const row = await getPolicyRow(trx, membership, segments.name);
    const names = (await attachedTunnels(trx, row.id)).map((tunnel) => tunnel.name);
    if (names.length > 0) refuse('conflict', renderInUse('Access policy', row.name, names));
    await trx.deleteFrom('access_policies').where('id', '=', row.id).execute();
    await auditCall(trx, context, 'access-policy.delete', row.name);
  });
}

/** Changes a policy's tokens, links or sessions under the project's lock, then notifies the edges. */
export async function changeGrants<T>(
  deps: PolicyDeps,
  { membership, segments }: Pick<CallContext<'createAccessToken'>, 'membership' | 'segments'>,
  change: (trx: Queries, row: PolicyRow) => Promise<T>,
): Promise<T> {
  const { result, tunnels } = await deps.store.write(async (trx) => {
    await lockProject(trx, membership.id);
    const row = await getPolicyRow(trx, membership, segments.name);
    return { result: await change(trx, row), tunnels: await attachedTunnels(trx, row.id) };
  });
  deps.feed.tunnelsChanged(tunnels.map((tunnel) => tunnel.id));
  return result;
}
