// The calls about security groups (spec 7). The project always travels, also where the spec's table leaves it out.
import type { SecurityGroup } from '@underpass/rules/entity.ts';
import { ApiError } from './error.ts';
import { request, segment } from './request.ts';

const groupPath = (name: string) => `/api/security-groups/${segment(name)}`;

export const listSecurityGroups = (project: string, signal?: AbortSignal) =>
  request<SecurityGroup[]>('GET', '/api/security-groups', { query: { project }, signal });

export async function getSecurityGroup(project: string, name: string, signal?: AbortSignal): Promise<SecurityGroup> {
  const group = await request<SecurityGroup | undefined>('GET', groupPath(name), { query: { project }, signal });
  if (!group) throw new ApiError(200, 'Empty response');
  // spec 3: the allow list is empty where it is missing.
  return { ...group, allowList: group.allowList ?? [] };
}

export const createSecurityGroup = (project: string, name: string, allow: readonly string[]) =>
  request<SecurityGroup>('POST', '/api/security-groups', { query: { project }, json: { name, allow } });

export type GroupChange = Pick<SecurityGroup, 'updatedAt' | 'allowList'>;

export const updateSecurityGroup = (project: string, name: string, { updatedAt, allowList }: GroupChange) =>
  request<SecurityGroup>('PATCH', groupPath(name), { query: { project }, json: { allow: allowList }, basedOn: updatedAt });

export const deleteSecurityGroup = (project: string, name: string) =>
  request<void>('DELETE', groupPath(name), { query: { project } });
