// The calls about security groups (spec 7).

import { parseAllowList } from '@underpass/rules/address/source-address.ts';
import type { SecurityGroup } from '@underpass/rules/entity/entity.ts';
import { parseListQuery, securityGroupList } from '@underpass/rules/list/list-page.ts';
import { renderInUse } from '@underpass/rules/text/in-use.ts';
import { parseObjectName } from '@underpass/rules/text/object-name.ts';
import { mayDeleteSecurityGroup } from '@underpass/rules/text/security-group-name.ts';
import type { Queries } from '../../platform/store/store.ts';
import { auditCall, listChange } from '../../request/caller/audit.ts';
import type { AreaHandlers, CallContext } from '../../request/caller/call.ts';
import type { Membership } from '../../request/caller/membership.ts';
import { findNameAlike } from '../../request/caller/name-alike.ts';
import { lockProject } from '../../request/caller/project-lock.ts';
import { takeQuota, withinQuota } from '../../request/caller/quota.ts';
import type { CallDeps } from '../../request/deps.ts';
import { nextUpdate, refuseStale } from '../../request/http/if-match.ts';
import { answerPage } from '../../request/http/page.ts';
import { orInvalid, orMissing, refuse } from '../../request/http/refusal.ts';
import { assignedTunnels, findGroup, insertGroup, readGroupPage, toGroup } from './groups.ts';

type GroupDeps = Pick<CallDeps, 'store' | 'feed'>;

const readGroup = async (db: Queries, membership: Membership, name: string): Promise<SecurityGroup> =>
  toGroup(orMissing(await findGroup(db, membership.id, name), 'Security group'));

function parseRules(membership: Membership, allow: readonly string[]): readonly string[] {
  const rules = orInvalid(parseAllowList(allow));
  withinQuota(membership, 'rulesPerGroup', rules.length);
  return rules;
}

function changeOf(before: readonly string[], after: readonly string[]): Readonly<Record<string, unknown>> {
  const { added, removed } = listChange(before, after);
  return added.length + removed.length === 0 ? { order: 'changed' } : { added, removed };
}

async function createGroup(deps: GroupDeps, context: CallContext<'createSecurityGroup'>): Promise<SecurityGroup> {
  const { membership, body, nowMs } = context;
  const name = orInvalid(parseObjectName(body.name));
  const allowList = parseRules(membership, body.allow);
  await deps.store.write(async (trx) => {
    // It also locks the project, so no two calls find the name free.
    await takeQuota(trx, membership, 'securityGroups');
    const alike = await findNameAlike(trx, 'security_groups', membership.id, name);
    if (alike !== undefined) refuse('conflict', `Security group '${alike}' already exists`);
    await insertGroup(trx, { projectId: membership.id, name, allowList }, nowMs);
    await auditCall(trx, context, 'security-group.create', name, { allow: allowList });
  });
  return readGroup(deps.store.db, membership, name);
}

/** Saving the rules that the group already has changes nothing: no audit row, no message to the edges. */
async function updateGroup(deps: GroupDeps, context: CallContext<'updateSecurityGroup'>): Promise<SecurityGroup> {
  const { membership, body, segments, nowMs } = context;
  const allowList = parseRules(membership, body.allow);
  const tunnels = await deps.store.write(async (trx) => {
    await lockProject(trx, membership.id);
    const group = orMissing(await findGroup(trx, membership.id, segments.name), 'Security group');
    const change = { allow_list: JSON.stringify(allowList), updated_at: nextUpdate(group.updated_at, nowMs) };
    if (change.allow_list === group.allow_list) return [];
    refuseStale(context.request, group.updated_at, `Security group '${group.name}'`);
    await trx.updateTable('security_groups').set(change).where('id', '=', group.id).execute();
    const before = JSON.parse(group.allow_list) as readonly string[];
    await auditCall(trx, context, 'security-group.update', group.name, changeOf(before, allowList));
    return assignedTunnels(trx, group.id);
  });
  deps.feed.tunnelsChanged(tunnels.map((tunnel) => tunnel.id));
  return readGroup(deps.store.db, membership, segments.name);
}

async function deleteGroup(deps: GroupDeps, context: CallContext<'deleteSecurityGroup'>): Promise<void> {
  const { membership, segments } = context;
  await deps.store.write(async (trx) => {
    await lockProject(trx, membership.id);
    const group = orMissing(await findGroup(trx, membership.id, segments.name), 'Security group');
    if (!mayDeleteSecurityGroup(group.name)) refuse('conflict', `Security group '${group.name}' cannot be deleted`);
    const tunnels = await assignedTunnels(trx, group.id);
    const names = tunnels.map((tunnel) => tunnel.name);
    if (names.length > 0) refuse('conflict', renderInUse('Security group', group.name, names));
    await trx.deleteFrom('security_groups').where('id', '=', group.id).execute();
    await auditCall(trx, context, 'security-group.delete', group.name);
  });
}

export const groupHandlers = {
  ...{ createSecurityGroup: createGroup, updateSecurityGroup: updateGroup, deleteSecurityGroup: deleteGroup },
  listSecurityGroups: async ({ store }, { membership, query, request }) =>
    answerPage(request, await readGroupPage(store.db, membership.id, orInvalid(parseListQuery(query, securityGroupList)))),
  getSecurityGroup: ({ store }, { membership, segments }) => readGroup(store.db, membership, segments.name),
} satisfies AreaHandlers<GroupDeps>;
