// A security group with its defaults (spec 3).
import { securityGroupCalls } from '@underpass/rules/api/security-group-calls.ts';
import type { SecurityGroup } from '@underpass/rules/entity/entity.ts';
import { ApiError } from './error.ts';
import { callApi } from './request.ts';

export async function getSecurityGroup(project: string, name: string, signal: AbortSignal): Promise<SecurityGroup> {
  const group: SecurityGroup | undefined = await callApi(securityGroupCalls.getSecurityGroup, { project, name }, { signal });
  if (!group) throw new ApiError(200, 'Empty response');
  // spec 3: a missing allow list counts as empty.
  return { ...group, allowList: group.allowList ?? [] };
}
