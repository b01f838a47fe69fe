// A program that signs in at a tunnel as MCP clients do, with the client of the MCP SDK, and the person who allows it in a browser.

import assert from 'node:assert/strict';
import { type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import { Readable } from 'node:stream';
import { type OAuthClientProvider, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';

export const password = 'correct horse battery';
const callback = 'http://127.0.0.1:3118/callback';

/** Prints what goes over the wire, with UNDERPASS_SHOW=1. */
export function show(line: string): void {
  if (process.env.UNDERPASS_SHOW === '1') process.stdout.write(`${line}\n`);
}

/** Fetches, but every host is this machine, and its https hosts have certificates of the local authority. */
export const createFetch =
  (caPem: string): typeof fetch =>
  async (input, init) => {
    const sent = new Request(input as string, init);
    const url = new URL(sent.url);
    const body = Buffer.from(await sent.arrayBuffer());
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const options = {
      method: sent.method,
      headers: { ...Object.fromEntries(sent.headers), 'content-length': body.length },
      signal: sent.signal,
      lookup: ((_: string, { all }: { all?: boolean }, done: (...found: unknown[]) => void) =>
        all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4)) as never,
    };
    const request = url.protocol === 'https:' ? requestTls(url, { ...options, ca: caPem }) : requestPlain(url, options);
    request.on('response', resolve).on('error', reject).end(body);
    const answer = await promise;
    const status = answer.statusCode ?? 0;
    const challenge = answer.headers['www-authenticate'];
    show(
      `${sent.method} ${sent.url.replace(/\?.*/, '?…')} → ${status}${challenge === undefined ? '' : `\n    WWW-Authenticate: ${challenge}`}`,
    );
    const headers = new Headers();
    for (const [name, values] of Object.entries(answer.headersDistinct))
      for (const value of values ?? []) headers.append(name, value);
    const hasBody = ![204, 304].includes(status) && sent.method !== 'HEAD';
    return new Response(hasBody ? (Readable.toWeb(answer) as ReadableStream) : null, { status, headers });
  };

export interface Program extends OAuthClientProvider {
  /** Where it sends its user. */
  asked: URL | undefined;
  kept: OAuthTokens | undefined;
}

export function createProgram(documentUrl?: string): Program {
  let information: OAuthClientInformationMixed | undefined;
  let verifier = '';
  return {
    asked: undefined,
    kept: undefined,
    redirectUrl: callback,
    clientMetadata: { client_name: 'Scribe', redirect_uris: [callback] },
    ...(documentUrl === undefined ? {} : { clientMetadataUrl: documentUrl }),
    state: () => 'the-state',
    clientInformation: () => information,
    saveClientInformation: (given) => {
      information = given;
    },
    tokens() {
      return this.kept;
    },
    saveTokens(given) {
      this.kept = given;
    },
    redirectToAuthorization(url) {
      this.asked = url;
    },
    saveCodeVerifier: (given) => {
      verifier = given;
    },
    codeVerifier: () => verifier,
    invalidateCredentials(which) {
      if (which === 'tokens') this.kept = undefined;
    },
  };
}

const fieldsIn = (page: string): Record<string, string> =>
  Object.fromEntries(
    [...page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [name!, value!]),
  );

/** A visitor with a browser: follows the program's address, signs in by the password, and allows it. Returns where the program is called back. */
async function visit(visitorFetch: typeof fetch, start: URL): Promise<URL> {
  const jar = new Map<string, string>();
  const open = async (url: URL, form?: Record<string, string>): Promise<{ url: URL; page: string }> => {
    const response = await visitorFetch(url, {
      redirect: 'manual',
      ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
      headers: {
        cookie: [...jar.values()].join('; '),
        'sec-fetch-site': form ? 'same-origin' : 'cross-site',
        accept: 'text/html',
      },
    });
    for (const line of response.headers.getSetCookie()) jar.set(line.split('=')[0]!, line.split(';')[0]!);
    const page = await response.text();
    const next = response.headers.get('location') ?? /content="0;url=([^"]+)"/.exec(page)?.[1]?.replaceAll('&amp;', '&');
    if (next === undefined) return { url, page };
    const target = new URL(next, url);
    return target.href.startsWith(callback) ? { url: target, page } : open(target);
  };
  const action = (page: string, part: string): string =>
    new RegExp(`action="([^"]*${part}[^"]*)"`).exec(page)?.[1] ?? assert.fail(`no form for ${part}: ${page}`);
  const signIn = await open(start);
  const path = action(signIn.page, 'password');
  const consent = await open(new URL(path, signIn.url), { ...fieldsIn(signIn.page), password });
  assert.match(consent.page, /Allow Scribe to use/);
  const allow = action(consent.page, 'consent');
  return (await open(new URL(allow, consent.url), { ...fieldsIn(consent.page), decision: 'allow' })).url;
}

/** Where a program wants to go, and how it gets there. */
export interface Way {
  readonly wireFetch: typeof fetch;
  readonly address: URL;
}

/** Does what a program does: it is refused, sends its user to the sign-in, and takes the code. Returns the issuer that the answer names. */
export async function authorize({ wireFetch, address }: Way, program: Program): Promise<string | null> {
  const transport = new StreamableHTTPClientTransport(address, { authProvider: program, fetch: wireFetch });
  const client = new Client({ name: 'scribe', version: '1.0.0' });
  await assert.rejects(client.connect(transport as never), UnauthorizedError);
  show('— the visitor signs in and allows the program —');
  const answer = await visit(wireFetch, program.asked!);
  assert.equal(answer.searchParams.get('state'), 'the-state');
  show('— the program is called back —');
  await transport.finishAuth(answer.searchParams.get('code')!);
  return answer.searchParams.get('iss');
}
