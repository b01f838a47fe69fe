// A real MCP client reaches a real MCP server (both of the official SDK) behind an http tunnel with an access policy: challenge,
// discovery, registration, sign-in, consent, token, tool call. UNDERPASS_SHOW=1 prints what went over the wire, for docs/access.md.

import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, request as requestPlain } from 'node:http';
import { createServer as createSecureServer, request as requestTls } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { type OAuthClientProvider, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { createCli } from '@underpass/client/test-kit.ts';
import type { DocumentNet } from '@underpass/control/visitors/programs/document.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { createTestAuthority } from '@underpass/wire/fixture/certificate.ts';
import { connectClient } from '../helpers/dashboard.ts';
import { type Account, type Product, startProduct, tunnelCreated } from '../helpers/product.ts';

const password = 'correct horse battery';
const callback = 'http://127.0.0.1:3118/callback';
const documentHost = 'scribe.example';

function show(line: string): void {
  if (process.env.UNDERPASS_SHOW === '1') process.stdout.write(`${line}\n`);
}

/** Fetches, but every host is this machine, and its https hosts have certificates of the local authority. */
const createFetch =
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

/** An MCP server with one tool, which says whom the tunnel vouches for. */
async function startMcpServer(t: TestContext): Promise<string> {
  const server = createServer(async (request, response) => {
    const mcp = new McpServer({ name: 'notes', version: '1.0.0' });
    mcp.registerTool('who', { description: 'Says who asks.' }, () => ({
      content: [
        { type: 'text', text: `${request.headers['x-underpass-user']} ${request.headers.authorization ?? 'without a token'}` },
      ],
    }));
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    response.on('close', () => void transport.close());
    await mcp.connect(transport as never);
    await transport.handleRequest(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A site with the document of a program, and the net in which control finds it. */
async function startDocumentSite(t: TestContext): Promise<{ readonly url: string; readonly net: DocumentNet }> {
  const authority = await createTestAuthority();
  const { keyPem, chainPem } = await authority.issue([documentHost]);
  const site = createSecureServer({ key: keyPem, cert: chainPem }, (_, response) =>
    response
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify({ client_id: url, client_name: 'Scribe', redirect_uris: ['http://127.0.0.1/callback'] })),
  );
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  t.after(() => site.close());
  const url = `https://${documentHost}:${(site.address() as AddressInfo).port}/program.json`;
  return { url, net: { addressesOf: async () => ['127.0.0.1'], isAllowed: () => true, ca: authority.certificatePem } };
}

interface Program extends OAuthClientProvider {
  /** Where it sends its user. */
  asked: URL | undefined;
  kept: OAuthTokens | undefined;
}

function createProgram(documentUrl?: string): Program {
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

interface Stage {
  readonly product: Product;
  readonly account: Account;
  readonly wireFetch: typeof fetch;
  readonly documentUrl: string;
  /** Addresses of the MCP server at two tunnels with the same policy. */
  readonly notes: URL;
  readonly other: URL;
}

async function startStage(t: TestContext): Promise<Stage> {
  const site = await startDocumentSite(t);
  const product = await startProduct(t, { documentNet: site.net });
  const account = await product.signIn();
  const inProject = `project=${account.project}`;
  const policy = await account.call('POST', `/api/access-policies?${inProject}`, { name: 'team', password });
  assert.equal(policy.status, 200, JSON.stringify(policy.body));
  const upstream = await startMcpServer(t);
  const at = async (name: string): Promise<URL> => {
    const body = { name, region: 'local', accessPolicy: 'team' };
    const made = await account.call<Tunnel>('POST', `/api/tunnels?${inProject}`, body);
    assert.equal(made.status, 200, JSON.stringify(made.body));
    const tunnel = await tunnelCreated(account, name);
    await connectClient(t, tunnel, upstream);
    return new URL('/mcp', tunnel.ingressDomains[0]!.url);
  };
  const notes = await at('notes');
  const other = await at('other');
  return { product, account, wireFetch: createFetch(product.caPem), documentUrl: site.url, notes, other };
}

async function connect({ wireFetch }: Stage, address: URL, program: Program) {
  const client = new Client({ name: 'scribe', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(address, { authProvider: program, fetch: wireFetch });
  await client.connect(transport as never);
  return { client, transport };
}

/** Does what a program does: it is refused, sends its user to the sign-in, takes the code, and connects again. */
async function authorize(stage: Stage, program: Program): Promise<void> {
  const transport = new StreamableHTTPClientTransport(stage.notes, { authProvider: program, fetch: stage.wireFetch });
  const client = new Client({ name: 'scribe', version: '1.0.0' });
  await assert.rejects(client.connect(transport as never), UnauthorizedError);
  show('— the visitor signs in and allows the program —');
  const answer = await visit(stage.wireFetch, program.asked!);
  assert.deepEqual(
    [answer.searchParams.get('state'), answer.searchParams.get('iss')],
    ['the-state', `${stage.product.origin}/access/oauth`],
  );
  show('— the program is called back —');
  await transport.finishAuth(answer.searchParams.get('code')!);
}

async function callWho(stage: Stage, program: Program): Promise<string> {
  const { client } = await connect(stage, stage.notes, program);
  const { content } = await client.callTool({ name: 'who', arguments: {} });
  await client.close();
  return (content as { text: string }[])[0]!.text;
}

async function askWith({ wireFetch }: Stage, address: URL, token: string): Promise<number> {
  const response = await wireFetch(address, { method: 'POST', headers: { authorization: `Bearer ${token}` }, body: '{}' });
  await response.body?.cancel();
  return response.status;
}

test('a real MCP client connects through sign-in and consent, and a sign-out ends it', async (t) => {
  const stage = await startStage(t);
  const { account, product, notes, other } = stage;

  const program = createProgram();
  await authorize(stage, program);
  const text = await callWho(stage, program);
  assert.match(text, /^\S+ without a token$/, 'the upstream gets the visitor, and not the token');
  show(`— the tool answers: ${text} —`);

  show('— a program whose id is a document —');
  const documented = createProgram(stage.documentUrl);
  await authorize(stage, documented);
  assert.match(await callWho(stage, documented), /without a token$/);
  const { client_id } = (await documented.clientInformation()) as { client_id: string };
  assert.equal(client_id, stage.documentUrl);

  show('— the token at another tunnel of the same policy —');
  const token = program.kept!.access_token;
  assert.equal(await askWith(stage, other, token), 401);
  assert.notEqual(await askWith(stage, notes, token), 401);

  const cli = await createCli(t);
  const caPath = product.caPath;
  const doctor = await cli.run(['doctor', notes.href, '--ca', caPath], { io: { fetch: stage.wireFetch, trust: () => {} } });
  show(doctor.stdout);
  assert.match(doctor.stdout, /^ok {4}registration: dynamic registration, client-ID metadata documents$/m);

  const signOut = await account.call('POST', `/api/access-policies/team/sign-out?project=${account.project}`, {});
  assert.ok(signOut.status < 300, JSON.stringify(signOut.body));
  const since = performance.now();
  while ((await askWith(stage, notes, token)) !== 401) assert.ok(performance.now() - since < 5_000, 'the token still works');
  show(`— signed out: refused after ${Math.round(performance.now() - since)} ms —`);
  await assert.rejects(callWho(stage, program), UnauthorizedError, 'the refresh token has ended too');
});
