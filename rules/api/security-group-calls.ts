// The calls about security groups.

import type { Call } from './call.ts';

export const securityGroupCalls = {
  listSecurityGroups: {
    method: 'GET',
    path: '/api/security-groups',
    query: 'SecurityGroupListQuery',
    answer: 'SecurityGroup[]',
    who: 'security-group.read',
    paged: true,
    compress: true,
  },
  getSecurityGroup: {
    method: 'GET',
    path: '/api/security-groups/:name',
    query: 'InProject',
    answer: 'SecurityGroup',
    who: 'security-group.read',
    compress: true,
  },
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
