// Leads from a program's request to its code: checks and keeps the request, lets the person sign in on the pages of sign-in/, and
// asks whether the program may act for them. All of it happens in one browser.

import { addressKey } from '@underpass/rules/address/address.ts';
import { refusalOf, type VisitorClaims } from '@underpass/rules/visit/grants.ts';
import { takeShare } from '../../platform/limit/limiter.ts';
import { createToken } from '../../platform/secret/token.ts';
import { limitedAddress } from '../../request/http/address.ts';
import { readBounded } from '../../request/http/body.ts';
import { isOpened, isOwnRequest } from '../../request/http/origin.ts';
import { seeOther } from '../../request/http/see-other.ts';
import type { SignInPolicy } from '../policies/find-sign-in-policy.ts';
import { isFlowBrowser, keepFlowBrowser } from '../sign-in/flow.ts';
import { renderEndedRequest, renderNote } from '../sign-in/page.ts';
import { logSignIn } from '../sign-in/sign-in-log.ts';
import type { WaitingRequests } from '../sign-in/visit-deps.ts';
import { findClient } from './clients.ts';
import { renderConsent } from './consent-page.ts';
import { type AuthorizationError, type OAuthClient, parseAuthorization, parseResource } from './core/authorization.ts';
import { addToQuery, describeRedirect, isOnDevice } from './core/redirect-uri.ts';
import type { OAuthDeps } from './deps.ts';
import {
  type AuthorizationFlow,
  type AuthorizationRequest,
  type Code,
  changeFlow,
  deleteFlow,
  findFlow,
  insertFlow,
} from './flows.ts';
import { issuerOf, oauthPath } from './metadata.ts';

/** A person may have to wait for a mail. */
const requestMs = 15 * 60_000;
const codeMs = 60_000;
/** How long control remembers a used code, to notice that it comes again. */
const spentMs = 10 * 60_000;
const formBytesMost = 2_048;

interface AuthorizationRequests {
  readonly waiting: WaitingRequests;
  readonly authorize: (request: Request, address: string) => Promise<Response>;
  readonly show: (request: Request, address: string) => Promise<Response>;
  readonly decide: (request: Request, address: string) => Promise<Response>;
}

const refusedTitle = 'This program cannot connect';

const refusedPage = (text: string): Response => renderNote(refusedTitle, text, { status: 400 });

interface RefusedRequest {
  readonly redirectUri: string;
  readonly state: string | undefined;
  readonly error: AuthorizationError;
  readonly description: string;
}

/**
 * Redirects only to a program on the visitor's device. Anyone may register a program and would else have an address here that
 * leads anywhere (RFC 9700 4.11.2), so others get a link that says where it goes.
 */
function refuseRequest(origin: string, client: OAuthClient, refused: RefusedRequest): Response {
  const { redirectUri, state, error, description } = refused;
  const url = addToQuery(redirectUri, { error, error_description: description, state, iss: issuerOf(origin) });
  if (isOnDevice(redirectUri)) return seeOther(url);
  const text = `${client.name} asked for access, but its request is not valid. ${description}`;
  return renderNote(refusedTitle, text, { status: 400, action: { label: `Go to ${describeRedirect(redirectUri)}`, url } });
}

async function authorize(deps: OAuthDeps, request: Request, address: string): Promise<Response> {
  const { store, keyRing, origin, clock } = deps;
  if (!isOpened(request.headers)) return refusedPage('Only a window of your browser may open this address.');
  await deps.limiter.take('programQuestion', addressKey(address));
  const query = new URL(request.url).searchParams;
  const ids = query.getAll('client_id');
  const read = (id: string) => deps.readDocument(id, address);
  const client = ids.length === 1 ? await findClient(store.db, read, ids[0]!) : 'The program must send one client_id.';
  if (typeof client === 'string') return refusedPage(client);
  const asked = parseAuthorization(query, client);
  if (!asked.ok && 'page' in asked) return refusedPage(asked.page);
  if (!asked.ok) return refuseRequest(origin, client, asked);
  const { state, ...authorization } = asked.value;
  const { host, origin: resourceOrigin } = parseResource(asked.value.resource)!;
  const policy = await deps.findPolicy(host);
  if (policy === undefined || new URL(policy.url).origin !== resourceOrigin) {
    const description = `No tunnel with an access policy is at ${resourceOrigin}.`;
    return refuseRequest(origin, client, {
      redirectUri: authorization.redirectUri,
      state,
      error: 'invalid_target',
      description,
    });
  }
  await takeShare(deps.limiter, 'programQuestion', address);
  const { browserHash, cookie } = keepFlowBrowser(deps, request.headers);
  const { id, name, isDocument } = client;
  const content: AuthorizationRequest = {
    stage: 'question',
    ...authorization,
    program: { id, name, isDocument },
    host,
    state,
    browserHash,
  };
  const secret = createToken();
  const nowMs = clock();
  await insertFlow(store.db, keyRing, secret, { policyId: policy.policyId, content, expiresAt: nowMs + requestMs }, nowMs);
  return seeOther(`${origin}/access/sign-in?grant=${secret}`, { 'set-cookie': cookie });
}

/**
 * The request, for the browser in which it began alone: a stranger may lead a visitor who has a session to the stranger's request.
 * If that visitor signed in to it, the stranger could allow it in the visitor's name.
 */
async function findRequest(
  deps: OAuthDeps,
  headers: Headers,
  secret: string,
): Promise<AuthorizationFlow<AuthorizationRequest> | undefined> {
  const flow = await findFlow(deps.store.db, deps.keyRing, secret, ['question'], deps.clock());
  return flow !== undefined && isFlowBrowser(deps, headers, flow.content.browserHash) ? flow : undefined;
}

async function finish(deps: OAuthDeps, headers: Headers, secret: string, claims: VisitorClaims): Promise<Response> {
  const flow = await findRequest(deps, headers, secret);
  if (flow === undefined) return renderEndedRequest();
  // Keep the first sign-in: the page names that person.
  const isKept =
    flow.content.claims === undefined && (await changeFlow(deps.store.db, deps.keyRing, flow, { ...flow.content, claims }));
  return isKept ? seeOther(`${deps.origin}${oauthPath}/consent?grant=${secret}`) : renderEndedRequest();
}

interface Ready {
  readonly flow: AuthorizationFlow<AuthorizationRequest>;
  readonly claims: VisitorClaims;
  readonly policy: SignInPolicy;
}

/** The request, if its person is signed in and still admitted. */
async function findReady(deps: OAuthDeps, request: Request, secret: string): Promise<Ready | undefined> {
  const flow = await findRequest(deps, request.headers, secret);
  const claims = flow?.content.claims;
  if (flow === undefined || claims === undefined) return undefined;
  const policy = await deps.findPolicy(flow.content.host);
  // Another policy may have replaced the one that the person signed in to.
  if (policy === undefined || policy.policyId !== flow.policyId) return undefined;
  return refusalOf(claims, policy.grants, deps.clock()) === null ? { flow, claims, policy } : undefined;
}

async function show(deps: OAuthDeps, request: Request, address: string): Promise<Response> {
  await deps.limiter.take('accessPage', limitedAddress(address, request.headers));
  const secret = new URL(request.url).searchParams.get('grant') ?? '';
  const ready = await findReady(deps, request, secret);
  if (ready === undefined) return renderEndedRequest();
  return renderConsent({ ...ready.flow.content, claims: ready.claims, projectName: ready.policy.projectName, secret });
}

const nameOf = ({ program }: AuthorizationRequest, claims: VisitorClaims): string =>
  claims.email === '' ? program.name : `${program.name}, for ${claims.email}`;

async function decide(deps: OAuthDeps, request: Request, address: string): Promise<Response> {
  await deps.limiter.take('accessPage', limitedAddress(address, request.headers));
  if (!isOwnRequest(request.headers, deps.origin)) return renderEndedRequest();
  const form = new URLSearchParams((await readBounded(request, formBytesMost)).toString('utf8'));
  const ready = await findReady(deps, request, form.get('grant') ?? '');
  // Delete the row first, so that only one answer counts.
  if (ready === undefined || !(await deleteFlow(deps.store.db, ready.flow.id))) return renderEndedRequest();
  const { flow, claims, policy } = ready;
  const { content } = flow;
  const allowed = form.get('decision') === 'allow';
  const reason = allowed ? '' : 'The visitor denied it.';
  const nowMs = deps.clock();
  await logSignIn(deps, { policy, address, nowMs }, { who: nameOf(content, claims), method: 'agent', reason });
  const answer = { state: content.state, iss: issuerOf(deps.origin) };
  if (!allowed) return leave(content, addToQuery(content.redirectUri, { error: 'access_denied', ...answer }));
  const code = createToken();
  await insertFlow(deps.store.db, deps.keyRing, code, codeRow(flow, claims, nowMs), nowMs);
  return leave(content, addToQuery(content.redirectUri, { code, ...answer }));
}

function codeRow({ policyId, content }: AuthorizationFlow<AuthorizationRequest>, claims: VisitorClaims, nowMs: number) {
  const { redirectUri, challenge, resource, host, program } = content;
  const code: Code = { stage: 'code', redirectUri, challenge, resource, host, program, claims, untilMs: nowMs + codeMs };
  return { policyId, content: code, expiresAt: nowMs + spentMs };
}

/** The page leaves by itself. It also has a link, because some browsers open a program's own scheme only by a click. */
const leave = ({ program }: AuthorizationRequest, url: string): Response =>
  renderNote('Back to the program', `You can close this page when ${program.name} is connected.`, {
    goesTo: url,
    action: { label: 'Continue', url },
  });

export const createAuthorizationRequests = (deps: OAuthDeps): AuthorizationRequests => ({
  waiting: {
    find: async (id, headers) => {
      const flow = await findRequest(deps, headers, id);
      return flow && { host: flow.content.host, programName: flow.content.program.name };
    },
    finish: (id, headers, claims) => finish(deps, headers, id, claims),
  },
  authorize: (request, address) => authorize(deps, request, address),
  show: (request, address) => show(deps, request, address),
  decide: (request, address) => decide(deps, request, address),
});
