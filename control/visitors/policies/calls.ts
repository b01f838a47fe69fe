// The calls about access policies.

import { accessPolicyList, parseListQuery } from '@underpass/rules/list/list-page.ts';
import type { Handlers } from '../../request/caller/call.ts';
import { answerPage } from '../../request/http/page.ts';
import { orInvalid } from '../../request/http/refusal.ts';
import { addLink, listLinks, removeLink } from './links.ts';
import { readPolicyPage } from './policies.ts';
import { listSignIns, signOutVisitors } from './sessions.ts';
import { addToken, listTokens, removeToken } from './tokens.ts';
import { testPolicy } from './try-visit.ts';
import { createPolicy, deletePolicy, getPolicy, type PolicyDeps, updatePolicy } from './write-policy.ts';

export const createPolicyCalls = (deps: PolicyDeps) =>
  ({
    listAccessPolicies: async ({ membership, query, request }) =>
      answerPage(request, await readPolicyPage(deps.store.db, membership.id, orInvalid(parseListQuery(query, accessPolicyList)))),
    getAccessPolicy: ({ membership, segments }) => getPolicy(deps.store.db, membership, segments.name),
    createAccessPolicy: (context) => createPolicy(deps, context),
    updateAccessPolicy: (context) => updatePolicy(deps, context),
    deleteAccessPolicy: (context) => deletePolicy(deps, context),
    testAccessPolicy: (context) => testPolicy(deps, context),
    signOutVisitors: (context) => signOutVisitors(deps, context),
    listAccessTokens: (context) => listTokens(deps.store.db, context),
    createAccessToken: (context) => addToken(deps, context),
    deleteAccessToken: (context) => removeToken(deps, context),
    listAccessLinks: (context) => listLinks(deps.store.db, context),
    createAccessLink: (context) => addLink(deps, context),
    deleteAccessLink: (context) => removeLink(deps, context),
    listAccessSignIns: (context) => listSignIns(deps.store.db, context),
  }) satisfies Partial<Handlers>;
