// The calls about access policies.

import { accessPolicyList, parseListQuery } from '@underpass/rules/list/list-page.ts';
import type { AreaHandlers } from '../../request/caller/call.ts';
import { answerPage } from '../../request/http/page.ts';
import { orInvalid } from '../../request/http/refusal.ts';
import { addLink, listLinks, removeLink } from './links.ts';
import { readPolicyPage } from './policies.ts';
import { listSignIns, signOutVisitors } from './sessions.ts';
import { addToken, listTokens, removeToken } from './tokens.ts';
import { testPolicy } from './try-visit.ts';
import { createPolicy, deletePolicy, getPolicy, type PolicyDeps, updatePolicy } from './write-policy.ts';

export const policyHandlers = {
  listAccessPolicies: async ({ store }, { membership, query, request }) =>
    answerPage(request, await readPolicyPage(store.db, membership.id, orInvalid(parseListQuery(query, accessPolicyList)))),
  getAccessPolicy: ({ store }, { membership, segments }) => getPolicy(store.db, membership, segments.name),
  ...{ createAccessPolicy: createPolicy, updateAccessPolicy: updatePolicy, deleteAccessPolicy: deletePolicy },
  ...{ testAccessPolicy: testPolicy, signOutVisitors, listAccessSignIns: listSignIns },
  ...{ listAccessTokens: listTokens, createAccessToken: addToken, deleteAccessToken: removeToken },
  ...{ listAccessLinks: listLinks, createAccessLink: addLink, deleteAccessLink: removeLink },
} satisfies AreaHandlers<PolicyDeps>;
