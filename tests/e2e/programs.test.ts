// A real MCP client reaches a real MCP server (both of the official SDK) behind an http tunnel with an access policy: challenge,
// discovery, registration, sign-in, consent, token, tool call. UNDERPASS_SHOW=1 prints what went over the wire, for docs/access.md.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createCli } from '@underpass/client/test-kit.ts';
import type { DocumentNet } from '@underpass/control/visitors/programs/document.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { createTestAuthority } from '@underpass/wire/fixture/certificate.ts';
import { connectClient } from '../helpers/dashboard.ts';
import { authorize, createFetch, createProgram, type Program, password, show } from '../helpers/mcp-program.ts';
import { type Account, type Product, startProduct, tunnelCreated } from '../helpers/product.ts';

const documentHost = 'scribe.example';

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

async function authorizeAtNotes(stage: Stage, program: Program): Promise<void> {
  const issuer = await authorize({ wireFetch: stage.wireFetch, address: stage.notes }, program);
  assert.equal(issuer, `${stage.product.origin}/access/oauth`);
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
  await authorizeAtNotes(stage, program);
  const text = await callWho(stage, program);
  assert.match(text, /^\S+ without a token$/, 'the upstream gets the visitor, and not the token');
  show(`— the tool answers: ${text} —`);

  show('— a program whose id is a document —');
  const documented = createProgram(stage.documentUrl);
  await authorizeAtNotes(stage, documented);
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
  while ((await askWith(stage, notes, token)) !== 401) assert.ok(performance.now() - since < 15_000, 'the token still works');
  show(`— signed out: refused after ${Math.round(performance.now() - since)} ms —`);
  await assert.rejects(callWho(stage, program), UnauthorizedError, 'the refresh token has ended too');
});
