// The token endpoint: a code, or a refresh token, for an access token (RFC 6749 4.1.3 and 6), and revocation (RFC 7009). Edges
// check access tokens by themselves: one ends by its time, or when the policy no longer admits its visitor or that program.

import { createHash, timingSafeEqual } from 'node:crypto';
import { hourMs } from '@underpass/rules/limits.ts';
import { refusalOf, type VisitorClaims } from '@underpass/rules/visit/grants.ts';
import { type SignedVisit, signVisit, verifyVisit } from '@underpass/wire/ticket/signed-visit.ts';
import { createToken, hashToken, isToken } from '../../platform/secret/token.ts';
import type { SignInPolicy } from '../policies/find-sign-in-policy.ts';
import { findRegistered, markUsed } from './clients.ts';
import type { OAuthClient } from './core/authorization.ts';
import type { OAuthDeps } from './deps.ts';
import {
  type AuthorizationFlow,
  type Chain,
  type Code,
  changeFlow,
  deleteFlow,
  findFlow,
  insertFlow,
  readFlow,
} from './flows.ts';
import { endOwnProgram } from './program-end.ts';

const accessMs = hourMs;

type TokenErrorCode = 'invalid_request' | 'invalid_client' | 'invalid_grant' | 'invalid_target' | 'unsupported_grant_type';

/** RFC 6749 5.2. */
export class TokenError extends Error {
  readonly code: TokenErrorCode;
  constructor(code: TokenErrorCode, description: string) {
    super(description);
    this.name = 'TokenError';
    this.code = code;
  }
}

function refuse(code: TokenErrorCode, description: string): never {
  throw new TokenError(code, description);
}

/** RFC 6749 5.1. */
interface GivenTokens {
  readonly access_token: string;
  readonly token_type: 'Bearer';
  readonly expires_in: number;
  readonly refresh_token: string;
}

/** RFC 7636 4.1. */
const verifierPattern = /^[A-Za-z0-9._~-]{43,128}$/;

function isVerifierOf(challenge: string, verifier: string): boolean {
  if (!verifierPattern.test(verifier)) return false;
  const digest = createHash('sha256').update(verifier).digest('base64url');
  return timingSafeEqual(Buffer.from(digest), Buffer.from(challenge));
}

/** `<chain>.<secret>`: the row is found by the chain, and says which secret is the newest. */
function splitRefresh(token: string): { chain: string; secret: string } | undefined {
  const [chain = '', secret = '', ...rest] = token.split('.');
  return rest.length === 0 && isToken(chain) && isToken(secret) ? { chain, secret } : undefined;
}

type Holder = Pick<Code | Chain, 'host' | 'claims' | 'resource'>;

const endedText = 'The sign-in has ended. Connect again.';

/** The policy, if it is still the one that the visitor signed in to, and still admits them. */
async function findAdmitting(deps: OAuthDeps, { host, claims }: Holder, policyId: string): Promise<SignInPolicy> {
  const policy = await deps.findPolicy(host);
  const isOver = policy === undefined || policy.policyId !== policyId || refusalOf(claims, policy.grants, deps.clock()) !== null;
  return isOver ? refuse('invalid_grant', endedText) : policy;
}

function give(
  policy: SignInPolicy,
  { host, claims: { agent: _, ...claims }, program }: Pick<Code, 'host' | 'claims' | 'program'>,
  refreshToken: string,
  nowMs: number,
): GivenTokens {
  const untilMs = Math.min(nowMs + accessMs, claims.expiresAtMs);
  const programId = hashToken(splitRefresh(refreshToken)!.chain);
  const agent: VisitorClaims = { ...claims, agent: program.name, programId };
  return {
    access_token: signVisit(policy.visitKey, 'agent', host, { claims: agent, untilMs }),
    token_type: 'Bearer',
    expires_in: Math.floor((untilMs - nowMs) / 1000),
    refresh_token: refreshToken,
  };
}

function expectResource(form: ReadonlyMap<string, string>, { resource }: Holder): void {
  const asked = form.get('resource');
  if (asked !== undefined && asked !== resource) refuse('invalid_target', 'resource is not the one that the visitor allowed.');
}

async function byCode(deps: OAuthDeps, form: ReadonlyMap<string, string>): Promise<GivenTokens> {
  const { store, keyRing } = deps;
  const nowMs = deps.clock();
  const flow = await findFlow(store.db, keyRing, form.get('code') ?? '', ['code', 'spent'], nowMs);
  if (flow === undefined) return refuse('invalid_grant', 'The code is wrong, used or too old.');
  if (flow.content.stage === 'spent') {
    await endOwnProgram(deps, flow.policyId, flow.content.chainId, nowMs);
    return refuse('invalid_grant', 'The code was used before. The tokens that it gave have ended.');
  }
  const content = flow.content;
  const isRight =
    content.untilMs > nowMs &&
    content.program.id === form.get('client_id') &&
    content.redirectUri === form.get('redirect_uri') &&
    isVerifierOf(content.challenge, form.get('code_verifier') ?? '');
  if (!isRight) return refuse('invalid_grant', 'The code is too old, or is of another client_id, redirect_uri or code_verifier.');
  expectResource(form, content);
  const policy = await findAdmitting(deps, content, flow.policyId);
  return startChain(deps, flow as AuthorizationFlow<Code>, policy, nowMs);
}

async function startChain(
  deps: OAuthDeps,
  flow: AuthorizationFlow<Code>,
  policy: SignInPolicy,
  nowMs: number,
): Promise<GivenTokens> {
  const { policyId, content } = flow;
  const [chain, secret] = [createToken(), createToken()];
  const { redirectUri, challenge, resource, program, host, claims } = content;
  const held: Chain = { stage: 'chain', redirectUri, challenge, resource, program, host, claims, current: hashToken(secret) };
  const isFirst = await deps.store.write(async (trx) => {
    if (!(await changeFlow(trx, deps.keyRing, flow, { stage: 'spent', chainId: hashToken(chain) }))) return false;
    await insertFlow(trx, deps.keyRing, chain, { policyId, content: held, expiresAt: claims.expiresAtMs }, nowMs);
    return true;
  });
  return isFirst ? give(policy, content, `${chain}.${secret}`, nowMs) : refuse('invalid_grant', 'The code was used before.');
}

async function byRefresh(deps: OAuthDeps, form: ReadonlyMap<string, string>): Promise<GivenTokens> {
  const { store, keyRing } = deps;
  const nowMs = deps.clock();
  const given = splitRefresh(form.get('refresh_token') ?? '');
  const flow = given && (await findFlow(store.db, keyRing, given.chain, ['chain'], nowMs));
  if (given === undefined || flow === undefined) return refuse('invalid_grant', endedText);
  const { content } = flow;
  if (content.program.id !== form.get('client_id')) return refuse('invalid_grant', 'The refresh token is of another client_id.');
  expectResource(form, content);
  const secret = createToken();
  const isNewest = content.current === hashToken(given.secret);
  // Two programs hold the chain, and one of them stole it (RFC 9700 4.14.2).
  if (!isNewest || !(await changeFlow(store.db, keyRing, flow, { ...content, current: hashToken(secret) }))) {
    await endOwnProgram(deps, flow.policyId, flow.id, nowMs);
    return refuse('invalid_grant', 'The refresh token was used before. Connect again.');
  }
  const policy = await findAdmitting(deps, content, flow.policyId).catch(async (error: unknown) => {
    if (error instanceof TokenError) await deleteFlow(store.db, flow.id);
    throw error;
  });
  return give(policy, content, `${given.chain}.${secret}`, nowMs);
}

const grantTypes: Readonly<Record<string, typeof byCode>> = { authorization_code: byCode, refresh_token: byRefresh };

/** Programs have no secret. One whose id is the address of a document is known by its code or token. */
async function readClientId({ store }: OAuthDeps, form: ReadonlyMap<string, string>): Promise<OAuthClient['id']> {
  const id = form.get('client_id') ?? refuse('invalid_client', 'client_id is missing.');
  if (form.has('client_secret') || form.has('client_assertion')) refuse('invalid_client', 'Programs have no secret here.');
  if (!id.startsWith('https://') && (await findRegistered(store.db, id)) === undefined)
    refuse('invalid_client', 'The program is not registered here.');
  return id;
}

export async function giveTokens(deps: OAuthDeps, form: ReadonlyMap<string, string>): Promise<GivenTokens> {
  const grant = Object.hasOwn(grantTypes, form.get('grant_type') ?? '') ? grantTypes[form.get('grant_type')!] : undefined;
  if (grant === undefined) return refuse('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token.');
  const id = await readClientId(deps, form);
  const tokens = await grant(deps, form);
  // Only after success: control soon deletes a program that no visitor has allowed.
  await markUsed(deps.store.db, id, deps.clock());
  return tokens;
}

/** What an access token says about its program, before its signature is checked. */
function programIdOf(token: string): string {
  try {
    const { claims } = JSON.parse(Buffer.from(token.split('.')[0] as string, 'base64url').toString()) as SignedVisit;
    return typeof claims.programId === 'string' && /^[\w-]+$/.test(claims.programId) ? claims.programId : '';
  } catch {
    return '';
  }
}

async function findByAccessToken(deps: OAuthDeps, token: string): Promise<AuthorizationFlow<Chain> | undefined> {
  const { store, keyRing, clock, findPolicy } = deps;
  const flow = await readFlow(store.db, keyRing, programIdOf(token), ['chain'], clock());
  const policy = flow && (await findPolicy(flow.content.host));
  return policy && verifyVisit(policy.visitKey, 'agent', flow.content.host, token, clock()) !== null ? flow : undefined;
}

/** Either token ends the program's access (RFC 7009 2.1). An unknown one is as good as revoked (RFC 7009 2.2). */
export async function revokeToken(deps: OAuthDeps, form: ReadonlyMap<string, string>): Promise<void> {
  const { store, keyRing, clock } = deps;
  const program = form.get('client_id') ?? refuse('invalid_client', 'client_id is missing.');
  const token = form.get('token') ?? refuse('invalid_request', 'token is missing.');
  const given = splitRefresh(token);
  const byRefreshToken = given && (await findFlow(store.db, keyRing, given.chain, ['chain'], clock()));
  const flow = byRefreshToken ?? (await findByAccessToken(deps, token));
  if (flow?.content.program.id === program) await endOwnProgram(deps, flow.policyId, flow.id, clock());
}
