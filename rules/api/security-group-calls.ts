// The calls about security groups.

import type { Call } from './call.ts';

const read = { method: 'GET', query: 'InProject', who: 'security-group.read', compress: true } as const;

export const securityGroupCalls = {
  listSecurityGroups: {
    ...read,
    path: '/api/security-groups',
    query: 'SecurityGroupListQuery',
    answer: 'SecurityGroup[]',
    paged: true,
  },
  getSecurityGroup: { ...read, path: '/api/security-groups/:name', answer: 'SecurityGroup' },
  createSecurityGroup: {
    method: 'POST',
    path: '/api/security-groups',
    query: 'InProject',
    json: 'NewSecurityGroup',
    answer: 'SecurityGroup',
    who: 'security-group.create',
  },
  updateSecurityGroup: {
    method: 'PATCH',
    path: '/api/security-groups/:name',
    query: 'InProjectOrOnly',
    json: 'SecurityGroupChange',
    answer: 'SecurityGroup',
    who: 'security-group.update',
    ifMatch: true,
  },
  deleteSecurityGroup: {
    method: 'DELETE',
    path: '/api/security-groups/:name',
    query: 'InProjectOrOnly',
    who: 'security-group.delete',
  },
} as const satisfies Readonly<Record<string, Call>>;
