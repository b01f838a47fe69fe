// The calls about access policies.

import type { Call } from './call.ts';

const inPolicy = '/api/access-policies/:name';

export const accessCalls = {
  listAccessPolicies: {
    method: 'GET',
    path: '/api/access-policies',
    query: 'AccessPolicyListQuery',
    answer: 'AccessPolicy[]',
    who: 'access-policy.read',
    paged: true,
  },
  getAccessPolicy: { method: 'GET', path: inPolicy, query: 'InProject', answer: 'AccessPolicy', who: 'access-policy.read' },
  createAccessPolicy: {
    method: 'POST',
    path: '/api/access-policies',
    query: 'InProject',
    json: 'NewAccessPolicy',
    answer: 'AccessPolicy',
    who: 'access-policy.create',
    lasting: true,
  },
  updateAccessPolicy: {
    method: 'PATCH',
    path: inPolicy,
    query: 'InProject',
    json: 'AccessPolicyChange',
    answer: 'AccessPolicy',
    who: 'access-policy.update',
    lasting: true,
    ifMatch: true,
  },
  deleteAccessPolicy: { method: 'DELETE', path: inPolicy, query: 'InProject', who: 'access-policy.delete' },
  testAccessPolicy: {
    method: 'POST',
    path: `${inPolicy}/test`,
    query: 'InProject',
    json: 'AccessTestRequest',
    answer: 'AccessTest',
    who: 'access-policy.read',
  },
  /** Ends the sessions of one person, or of everybody. Those who are still admitted may sign in again. */
  signOutVisitors: {
    method: 'POST',
    path: `${inPolicy}/sign-out`,
    query: 'InProject',
    json: 'VisitorSignOut',
    who: 'access-policy.update',
  },
  listAccessTokens: {
    method: 'GET',
    path: `${inPolicy}/tokens`,
    query: 'InProject',
    answer: 'AccessToken[]',
    who: 'access-policy.read',
  },
  createAccessToken: {
    method: 'POST',
    path: `${inPolicy}/tokens`,
    query: 'InProject',
    json: 'AccessTokenRequest',
    answer: 'NewAccessToken',
    who: 'access-policy.update',
    lasting: true,
  },
  deleteAccessToken: { method: 'DELETE', path: `${inPolicy}/tokens/:id`, query: 'InProject', who: 'access-policy.update' },
  listAccessLinks: {
    method: 'GET',
    path: `${inPolicy}/links`,
    query: 'InProject',
    answer: 'AccessLink[]',
    who: 'access-policy.read',
  },
  createAccessLink: {
    method: 'POST',
    path: `${inPolicy}/links`,
    query: 'InProject',
    json: 'AccessLinkRequest',
    answer: 'NewAccessLink',
    who: 'access-policy.update',
    lasting: true,
  },
  deleteAccessLink: { method: 'DELETE', path: `${inPolicy}/links/:id`, query: 'InProject', who: 'access-policy.update' },
  /** The newest, at most 500. */
  listAccessPrograms: {
    method: 'GET',
    path: `${inPolicy}/programs`,
    query: 'InProject',
    answer: 'AccessProgram[]',
    who: 'access-sign-in.read',
  },
  /** Ends the program's access, not the visitor's sessions. */
  deleteAccessProgram: { method: 'DELETE', path: `${inPolicy}/programs/:id`, query: 'InProject', who: 'access-policy.update' },
  listAccessSignIns: {
    method: 'GET',
    path: '/api/access-sign-ins',
    query: 'AccessSignInQuery',
    answer: 'AccessSignInPage',
    who: 'access-sign-in.read',
  },
} as const satisfies Readonly<Record<string, Call>>;
