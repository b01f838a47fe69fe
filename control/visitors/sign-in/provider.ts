// Sign-in through the OpenID Connect provider of a policy: authorization code flow with PKCE, nonce and a state that is bound to this
// browser (OpenID Connect Core 3.1, RFC 9700).

import { addressKey, networkKey } from '@underpass/rules/address/address.ts';
import type { Provider } from '@underpass/rules/visit/parse-provider.ts';
import { providerCallbackPath } from '@underpass/rules/visit/provider-callback.ts';
import * as client from 'openid-client';
import { createSharedAnswers } from '../../edges/dns/shared-answers.ts';
import { providerSecretContext } from '../../edges/policies/policy-keys.ts';
import { hasRoom } from '../../platform/limit/limiter.ts';
import { createTurns, type Turns } from '../../platform/limit/turns.ts';
import { createToken } from '../../platform/secret/token.ts';
import { createGuardedFetch, createGuardedNet } from '../../request/http/guarded-fetch.ts';
import { seeOther } from '../../request/http/see-other.ts';
import type { SignInPolicy } from '../policies/find-sign-in-policy.ts';
import { claimsOf, finishSignIn, signInUrl } from './finish.ts';
import { addFlow, isFlowBrowser, keepFlowBrowser, type SignInFlow } from './flow.ts';
import { html, renderNote } from './page.ts';
import { isIncomplete, type Person, readPerson } from './provider-claims.ts';
import { logSignIn } from './sign-in-log.ts';
import type { SignInTarget } from './target.ts';
import type { Visit, VisitDeps } from './visit-deps.ts';

const requestSeconds = 5;
const metadataKeptMs = 10 * 60_000;
const metadataMost = 200;

/** What a flow of kind `oidc` holds; its secret is the `state` of the authorization request. */
export interface ProviderFlow {
  readonly target: SignInTarget;
  readonly callbackPath: string;
  readonly providerId: string;
  readonly browserHash: string;
  readonly verifier: string;
  readonly nonce: string;
}

export interface Providers {
  readonly configure: (policy: SignInPolicy, provider: Provider) => Promise<client.Configuration>;
}

type ProviderDeps = Pick<VisitDeps, 'keyRing' | 'clock' | 'production' | 'providerNetworks' | 'dns'>;

/** Sets of keys are the largest answers; Microsoft's has some 30 kB. */
const answerMaxBytes = 512 * 1024;

/** Reads what providers publish about themselves, and keeps it for some minutes. */
export function createProviders(deps: ProviderDeps): Providers {
  const { keyRing, clock, production, providerNetworks: networks, dns } = deps;
  const net = createGuardedNet({ production, networks, dns });
  const turns: Turns = createTurns(4, 20, 'Too many people sign in at the moment. Please try again soon.');
  const options = {
    [client.customFetch]: createGuardedFetch(net, answerMaxBytes) as client.CustomFetch,
    timeout: requestSeconds,
    execute: production ? [] : [client.allowInsecureRequests],
  };
  const discover = async (issuer: string): Promise<client.ServerMetadata> =>
    (await client.discovery(new URL(issuer), 'none', undefined, undefined, options)).serverMetadata();
  const kept = createSharedAnswers(discover, { keptMs: metadataKeptMs, most: metadataMost, clock });
  return {
    configure: async (policy, provider) => {
      const metadata = await turns(policy.policyId, async () => kept.recent(provider.issuer) ?? kept.ask(provider.issuer));
      const { policyId, providerSecretSealed: sealed } = policy;
      const secret = sealed === null ? null : keyRing.open(sealed, providerSecretContext(policyId));
      const proof = secret === null ? client.None() : authenticationOf(metadata, secret);
      const configuration = new client.Configuration(metadata, provider.clientId, undefined, proof);
      configuration[client.customFetch] = options[client.customFetch];
      configuration.timeout = requestSeconds;
      // Without this the client trusts TLS to the token endpoint and does not check the ID token's signature.
      client.enableNonRepudiationChecks(configuration);
      for (const apply of options.execute) apply(configuration);
      return configuration;
    },
  };
}

/** A provider that names its methods and lacks `client_secret_basic`, the default, wants the secret in the body. */
const authenticationOf = ({ token_endpoint_auth_methods_supported: methods }: client.ServerMetadata, secret: string) =>
  methods === undefined || methods.includes('client_secret_basic')
    ? client.ClientSecretBasic(secret)
    : client.ClientSecretPost(secret);

/** Some providers send groups only if the scope asks for them. */
const scopeOf = ({ scopes_supported: known = [] }: client.ServerMetadata, { groups }: Provider): string =>
  ['openid', 'email', 'profile', ...(groups.length > 0 && known.includes('groups') ? ['groups'] : [])].join(' ');

const troubleText = (provider: Provider) =>
  html`Signing in with ${provider.label} failed. Try again, or tell the people who run the service.`;

/** Logs no `cause`: it holds the provider's answer, perhaps with tokens. */
function logTrouble({ log }: VisitDeps, { policy }: Visit, step: string, error: unknown): void {
  const { name, code, message } = error as { name?: string; code?: string; message?: string };
  const why = { name, code, message: message?.slice(0, 300) };
  log.warn({ policy: policy.policyId, host: policy.host, step, why }, 'a sign-in through a provider failed');
}

const renderTrouble = (visit: Visit, provider: Provider, status: number): Response =>
  renderNote('The sign-in did not work', troubleText(provider), {
    status,
    action: { label: 'Try again', url: signInUrl(visit.target) },
  });

export async function startProvider(deps: VisitDeps, providers: Providers, visit: Visit): Promise<Response> {
  const { policy, target, request, address, nowMs } = visit;
  const { provider } = policy.content;
  if (provider === null || policy.grants.provider === null) return renderGone(visit);
  await deps.limiter.take('accessProvider', addressKey(address));
  if (!(await hasRoom(deps.limiter, 'accessProviderPerPolicy', policy.policyId)))
    await deps.limiter.take('accessProviderPerNetwork', `${policy.policyId} ${networkKey(address)}`);
  let configuration: client.Configuration;
  try {
    configuration = await providers.configure(policy, provider);
  } catch (error) {
    logTrouble(deps, visit, 'discovery', error);
    return renderTrouble(visit, provider, 502);
  }
  const { browserHash, cookie } = keepFlowBrowser(deps, request.headers);
  const callbackPath = providerCallbackPath(policy.projectId, provider.issuer);
  const flow = { target, callbackPath, providerId: policy.grants.provider.id, browserHash };
  const secrets = { verifier: client.randomPKCECodeVerifier(), nonce: client.randomNonce() };
  const state = createToken();
  const content: ProviderFlow = { ...flow, ...secrets };
  await addFlow(deps, { kind: 'oidc', policyId: policy.policyId, secret: state, content }, nowMs);
  const url = client.buildAuthorizationUrl(configuration, {
    redirect_uri: deps.origin + callbackPath,
    scope: scopeOf(configuration.serverMetadata(), provider),
    state,
    nonce: secrets.nonce,
    code_challenge: await client.calculatePKCECodeChallenge(secrets.verifier),
    code_challenge_method: 'S256',
  });
  return seeOther(url.href, { 'set-cookie': cookie });
}

const renderGone = (visit: Visit): Response =>
  renderNote('This sign-in has ended', 'Start again, and finish in the same browser within ten minutes.', {
    status: 403,
    action: { label: 'Start again', url: signInUrl(visit.target) },
  });

async function askPerson(
  configuration: client.Configuration,
  url: URL,
  flow: ProviderFlow,
  provider: Provider,
): Promise<Person | undefined> {
  const checks = { pkceCodeVerifier: flow.verifier, expectedNonce: flow.nonce, expectedState: url.searchParams.get('state')! };
  const tokens = await client.authorizationCodeGrant(configuration, url, checks);
  const said = tokens.claims();
  if (said === undefined) return undefined;
  const { groupClaim, groups } = provider;
  const hasMore = configuration.serverMetadata().userinfo_endpoint !== undefined;
  const more =
    hasMore && isIncomplete(said, groupClaim, groups)
      ? await client.fetchUserInfo(configuration, tokens.access_token, said.sub)
      : {};
  return readPerson({ ...more, ...said }, groupClaim, groups);
}

const providerError = /^[a-z_]{1,60}$/;

async function refusedByProvider(deps: VisitDeps, visit: Visit, provider: Provider, error: string): Promise<Response> {
  const code = providerError.test(error) ? error : 'an unknown error';
  await logSignIn(deps, visit, { who: '', method: 'oidc', reason: `The provider answered ${code}.` });
  return renderTrouble(visit, provider, 403);
}

/** The caller has taken `flow` out of the store, so no answer of a provider counts twice. */
export async function finishProvider(deps: VisitDeps, providers: Providers, visit: Visit, flow: SignInFlow): Promise<Response> {
  const content = flow.content as ProviderFlow;
  const { policy, request } = visit;
  const { provider } = policy.content;
  const isSame = policy.policyId === flow.policyId && policy.grants.provider?.id === content.providerId;
  if (provider === null || !isSame || !isFlowBrowser(deps, request.headers, content.browserHash)) return renderGone(visit);
  const { search, searchParams } = new URL(request.url);
  const error = searchParams.get('error');
  if (error !== null) return refusedByProvider(deps, visit, provider, error);
  const url = new URL(deps.origin + content.callbackPath + search);
  let person: Person | undefined;
  try {
    person = await askPerson(await providers.configure(policy, provider), url, content, provider);
  } catch (failure) {
    logTrouble(deps, visit, 'callback', failure);
  }
  if (person === undefined) {
    await logSignIn(deps, visit, { who: '', method: 'oidc', reason: 'The answer of the provider could not be used.' });
    return renderTrouble(visit, provider, 502);
  }
  const claims = claimsOf(visit, { method: 'oidc', ...person, source: content.providerId });
  return finishSignIn(deps, visit, claims, person.subject);
}
