// A real OpenID Connect provider on loopback, and a person who signs in there without a browser.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

export const providerClient = { id: 'underpass', secret: 'a-secret-of-the-client' } as const;

export interface Persona {
  readonly sub: string;
  readonly [claim: string]: unknown;
}

export interface IdentityProvider {
  readonly issuer: string;
  /** Personas by the name with which they sign in. */
  readonly people: Map<string, Persona>;
  /** Goes from the authorization request to the redirect back to control. */
  signIn(authorizationUrl: string, name: string): Promise<URL>;
}

const claims = { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] };

/** oidc-provider warns on the console of what only development may have, and of each Node that is newer than itself. */
async function withoutWarnings<T>(make: () => Promise<T>): Promise<T> {
  const { warn } = console;
  console.warn = () => {};
  try {
    return await make();
  } finally {
    console.warn = warn;
  }
}

/** `conformIdTokenClaims`: false puts claims into the ID token, true only into userinfo. */
export async function startIdentityProvider(
  t: TestContext,
  redirectUriOf: (issuer: string) => string,
  { onlyUserinfo = false }: { readonly onlyUserinfo?: boolean } = {},
): Promise<IdentityProvider> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const people = new Map<string, Persona>();
  const provider = await withoutWarnings(async () => {
    const { default: Provider } = await import('oidc-provider');
    return new Provider(issuer, {
      clients: [{ client_id: providerClient.id, client_secret: providerClient.secret, redirect_uris: [redirectUriOf(issuer)] }],
      claims,
      conformIdTokenClaims: onlyUserinfo,
      cookies: { keys: ['of-a-test'] },
      ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
      findAccount: (_, id) => {
        const person = people.get(id);
        return person && { accountId: id, claims: () => person };
      },
    });
  });
  server.on('request', provider.callback());
  t.after(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return { issuer, people, signIn: (url, name) => signIn(issuer, url, name) };
}

const stepsMost = 12;

async function signIn(issuer: string, from: string, name: string): Promise<URL> {
  const jar = new Map<string, string>();
  const ask = async (url: URL, form?: Record<string, string>): Promise<Response> => {
    const cookie = [...jar].map(([key, value]) => `${key}=${value}`).join('; ');
    const body = form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) };
    const answer = await fetch(url, { redirect: 'manual', headers: { cookie }, ...body });
    for (const line of answer.headers.getSetCookie()) {
      const [, key, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      if (value === '') jar.delete(key!);
      else jar.set(key!, value!);
    }
    return answer;
  };
  let url = new URL(from);
  for (let step = 0; step < stepsMost; step++) {
    if (url.origin !== issuer) return url;
    let answer = await ask(url);
    if (answer.status === 200) {
      const prompt = /name="prompt" value="(\w+)"/.exec(await answer.text())![1]!;
      answer = await ask(url, prompt === 'login' ? { prompt, login: name, password: 'any' } : { prompt });
    }
    const location = answer.headers.get('location');
    if (location === null) throw new Error(`the provider answered ${answer.status} at ${url.pathname}`);
    url = new URL(location, url);
  }
  throw new Error('the provider led nowhere');
}
