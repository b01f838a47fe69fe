// The routes of the pages on which visitors sign in: `/access/…` at control's own origin, which a tunnel's scripts never reach.

import type { Hono } from 'hono';
import { z } from 'zod';
import { LimitReached } from '../../platform/limit/limit-reached.ts';
import { limitedAddress } from '../../request/http/address.ts';
import { readUrlEncoded } from '../../request/http/body.ts';
import { answerMethod } from '../../request/http/method.ts';
import { isOpened, isOwnRequest } from '../../request/http/origin.ts';
import { Refusal } from '../../request/http/refusal.ts';
import { findSignInPolicy, type SignInPolicy } from '../policies/find-sign-in-policy.ts';
import { enterCode, sendCode } from './code.ts';
import { type SignInFlow, takeFlow } from './flow.ts';
import { answerKeys } from './keys.ts';
import { linkScript } from './link-script.ts';
import { findMember, signInMember, signOutMember } from './member.ts';
import { renderEndedRequest, renderNote } from './page.ts';
import { signInByPassword } from './password.ts';
import { createProviders, finishProvider, type ProviderFlow, type Providers, startProvider } from './provider.ts';
import { renderLinkPage, signInByLink } from './share-link.ts';
import { renderSignIn } from './sign-in-page.ts';
import { style } from './style.ts';
import { hostOf, parseTarget, type SignInTarget } from './target.ts';
import type { Visit, VisitDeps } from './visit-deps.ts';

interface Incoming {
  readonly request: Request;
  readonly address: string;
}

type Fields = Readonly<Record<string, string>>;

const renderNoVisit = (): Response =>
  renderNote(
    'There is nothing to sign in to',
    'The service needs no sign-in, or the link to this page is incomplete. Open the address of the service again.',
    { status: 404 },
  );

const findPolicy = ({ store, keyRing, clock }: VisitDeps, host: string): Promise<SignInPolicy | undefined> =>
  findSignInPolicy(store.db, keyRing, host, clock());

type TargetPolicy = Pick<Visit, 'policy' | 'programName'>;

/** Reads the policy of the target's host from the store: nothing else in the request decides where the sign-in leads. */
async function findTargetPolicy(deps: VisitDeps, target: SignInTarget, headers: Headers): Promise<TargetPolicy | undefined> {
  const waiting = target.kind === 'program' ? await deps.programs.find(target.id, headers) : undefined;
  const host = target.kind === 'edge' ? target.host : waiting?.host;
  const policy = host === undefined ? undefined : await findPolicy(deps, host);
  return policy && { policy, programName: waiting?.programName };
}

async function findVisit(
  deps: VisitDeps,
  { request, address }: Incoming,
  target: SignInTarget | undefined,
): Promise<Visit | undefined> {
  const found = target && (await findTargetPolicy(deps, target, request.headers));
  return found && { ...found, target: target!, request, address, nowMs: deps.clock() };
}

async function withVisit(
  deps: VisitDeps,
  incoming: Incoming,
  target: SignInTarget | undefined,
  answer: (visit: Visit) => Promise<Response> | Response,
): Promise<Response> {
  const visit = await findVisit(deps, incoming, target);
  if (visit !== undefined) return answer(visit);
  return target?.kind === 'program' ? renderEndedRequest() : renderNoVisit();
}

const queryOf = (request: Request): Fields => Object.fromEntries(new URL(request.url).searchParams);

/** Members with a dashboard session go straight on if the policy offers no other way to sign in. */
async function openSignIn(deps: VisitDeps, visit: Visit): Promise<Response> {
  const { grants } = visit.policy;
  const hasOthers = grants.provider !== null || grants.passwordId !== null || grants.people.length + grants.links.length > 0;
  if (grants.memberIds === null || hasOthers || !isOpened(visit.request.headers)) return renderSignIn(visit);
  const member = await findMember(deps, visit);
  return member === null ? renderSignIn(visit) : signInMember(deps, visit);
}

const openMember = (deps: VisitDeps, visit: Visit): Promise<Response> | Response =>
  visit.policy.grants.memberIds === null || !isOpened(visit.request.headers) ? renderSignIn(visit) : signInMember(deps, visit);

async function openCallback(deps: VisitDeps, providers: Providers, incoming: Incoming): Promise<Response> {
  const { pathname, searchParams } = new URL(incoming.request.url);
  const flow = await takeFlow(deps, 'oidc', searchParams.get('state') ?? '', deps.clock());
  const content = flow?.content as ProviderFlow | undefined;
  if (pathname !== content?.callbackPath) return renderNoVisit();
  return withVisit(deps, incoming, content.target, (visit) => finishProvider(deps, providers, visit, flow as SignInFlow));
}

const text = (body: string, type: string): Response =>
  new Response(body, { headers: { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'public, max-age=86400' } });

const forms = {
  '/access/code': { fields: ['email'], answer: sendCode },
  '/access/code/enter': { fields: ['flow', 'code'], answer: enterCode },
  '/access/password': { fields: ['password'], answer: signInByPassword },
  '/access/link': { fields: ['secret'], answer: signInByLink },
  '/access/sign-out': { fields: [], answer: signOutMember },
} as const;

const targetNames = ['host', 'state', 'grant'];

const takePage = ({ limiter }: VisitDeps, { request, address }: Incoming): Promise<void> =>
  limiter.take('accessPage', limitedAddress(address, request.headers));

async function postForm(deps: VisitDeps, path: keyof typeof forms, incoming: Incoming): Promise<Response> {
  const { request } = incoming;
  const { fields, answer } = forms[path];
  await takePage(deps, incoming);
  if (!isOwnRequest(request.headers, deps.origin)) throw new Refusal('forbidden', 'This form was sent by another site.');
  const schema = z.object(Object.fromEntries([...targetNames, ...fields].map((name) => [name, z.string()])));
  const typed = (await readUrlEncoded(request, schema)) as Fields;
  const send = answer as (deps: VisitDeps, visit: Visit, typed: Fields) => Promise<Response>;
  return withVisit(deps, incoming, parseTarget(typed), (visit) => send(deps, visit, typed));
}

const failureTitle = 'That did not work';

/** Shows refusals and reached limits as pages. Any other error is a defect, which control's own handler answers. */
function renderFailure(error: unknown): Response {
  if (error instanceof Refusal) return renderNote(failureTitle, error.message, { status: error.status });
  if (!(error instanceof LimitReached)) throw error;
  const headers = { 'retry-after': String(error.retryAfterSeconds) };
  return renderNote('Please wait a little', error.message, { status: 429, headers });
}

type Bindings = { Bindings: { readonly address: string } };

/** Adds every route below /access, so that no other page ever answers there. */
export function addVisits<E extends Bindings>(app: Hono<E>, deps: VisitDeps): void {
  const providers = createProviders(deps);
  const get = (path: string, answer: (incoming: Incoming, segments: Fields) => Promise<Response> | Response): void => {
    app.get(path, async (c) => {
      const request = c.req.raw;
      const address = (c.env as Bindings['Bindings']).address;
      try {
        await takePage(deps, { request, address });
        return await answer({ request, address }, c.req.param() as Fields);
      } catch (error) {
        return renderFailure(error);
      }
    });
  };
  get('/access/style.css', () => text(style, 'text/css'));
  get('/access/link.js', () => text(linkScript, 'text/javascript'));
  get('/access/sign-in', (incoming) =>
    withVisit(deps, incoming, parseTarget(queryOf(incoming.request)), (visit) => openSignIn(deps, visit)),
  );
  get('/access/member/grant/:grant', (incoming, { grant }) =>
    withVisit(deps, incoming, parseTarget({ grant }), (visit) => openMember(deps, visit)),
  );
  get('/access/member/:host/:state', (incoming, segments) =>
    withVisit(deps, incoming, parseTarget(segments), (visit) => openMember(deps, visit)),
  );
  get('/access/oidc/start', (incoming) =>
    withVisit(deps, incoming, parseTarget(queryOf(incoming.request)), (visit) =>
      isOpened(visit.request.headers) ? startProvider(deps, providers, visit) : renderSignIn(visit),
    ),
  );
  get('/access/oidc/callback/:project/:issuer', (incoming) => openCallback(deps, providers, incoming));
  get('/access/link', async ({ request }) => {
    const host = hostOf(queryOf(request).host ?? '');
    const policy = host === null ? undefined : await findPolicy(deps, host);
    return policy === undefined ? renderNoVisit() : renderLinkPage(policy);
  });
  get('/access/keys/:host', async (_incoming, { host = '' }) => {
    const name = hostOf(host);
    const policy = name === null ? undefined : await findPolicy(deps, name);
    return policy === undefined ? renderNoVisit() : answerKeys(deps.store, policy.policyId);
  });
  for (const path of Object.keys(forms) as (keyof typeof forms)[])
    app.post(path, (c) =>
      postForm(deps, path, { request: c.req.raw, address: (c.env as Bindings['Bindings']).address }).catch(renderFailure),
    );
  get('/access/*', () => renderNoVisit());
  app.all('/access/*', (c) => answerMethod(c.req.raw, Object.hasOwn(forms, c.req.path) ? ['GET', 'POST'] : ['GET']));
}
