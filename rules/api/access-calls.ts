// The calls about access policies.

import type { Call } from './call.ts';

const inPolicy = '/api/access-policies/:name';

const read = { method: 'GET', query: 'InProject', who: 'access-policy.read' } as const;
const update = { query: 'InProject', who: 'access-policy.update' } as const;

export const accessCalls = {
  listAccessPolicies: {
    ...read,
    path: '/api/access-policies',
    query: 'AccessPolicyListQuery',
    answer: 'AccessPolicy[]',
    paged: true,
  },
  getAccessPolicy: { ...read, path: inPolicy, answer: 'AccessPolicy' },
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
    ...update,
    method: 'PATCH',
    path: inPolicy,
    json: 'AccessPolicyChange',
    answer: 'AccessPolicy',
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
  signOutVisitors: { ...update, method: 'POST', path: `${inPolicy}/sign-out`, json: 'VisitorSignOut' },
  listAccessTokens: { ...read, path: `${inPolicy}/tokens`, answer: 'AccessToken[]' },
  createAccessToken: {
    ...update,
    method: 'POST',
    path: `${inPolicy}/tokens`,
    json: 'AccessTokenRequest',
    answer: 'NewAccessToken',
    lasting: true,
  },
  deleteAccessToken: { ...update, method: 'DELETE', path: `${inPolicy}/tokens/:id` },
  listAccessLinks: { ...read, path: `${inPolicy}/links`, answer: 'AccessLink[]' },
  createAccessLink: {
    ...update,
    method: 'POST',
    path: `${inPolicy}/links`,
    json: 'AccessLinkRequest',
    answer: 'NewAccessLink',
    lasting: true,
  },
  deleteAccessLink: { ...update, method: 'DELETE', path: `${inPolicy}/links/:id` },
  /** The newest, at most 500. */
  listAccessPrograms: {
    method: 'GET',
    path: `${inPolicy}/programs`,
    query: 'InProject',
    answer: 'AccessProgram[]',
    who: 'access-sign-in.read',
  },
  /** Ends the program's access, not the visitor's sessions. */
  deleteAccessProgram: { ...update, method: 'DELETE', path: `${inPolicy}/programs/:id` },
  listAccessSignIns: {
    method: 'GET',
    path: '/api/access-sign-ins',
    query: 'AccessSignInQuery',
    answer: 'AccessSignInPage',
    who: 'access-sign-in.read',
  },
} as const satisfies Readonly<Record<string, Call>>;
