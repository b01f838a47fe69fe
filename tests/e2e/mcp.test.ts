// `underpass mcp` as a person starts it, with a stdio server of the MCP SDK behind it and the SDK's client before it: sign-in, tools,
// progress, a question of the server, its notifications, and the end.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { eventually } from '@underpass/rules/test-kit.ts';
import type { AccessPolicy } from '@underpass/rules/visit/access-policy.ts';
import { authorize, createFetch, createProgram, type Program, password } from '../helpers/mcp-program.ts';
import { startProduct } from '../helpers/product.ts';
import { root } from '../helpers/release-build.ts';

const server = fileURLToPath(new URL('../helpers/mcp-server.mjs', import.meta.url));
const secret = 'notes-secret-4711';

async function startStage(t: TestContext) {
  const product = await startProduct(t);
  const account = await product.signIn();
  const home = await mkdtemp(join(tmpdir(), 'underpass-mcp-'));
  t.after(() => rm(home, { recursive: true, force: true }));
  const env = {
    HOME: home,
    PATH: process.env.PATH,
    NOTES_TOKEN: secret,
    UNDERPASS_SERVER: product.origin,
    UNDERPASS_API_TOKEN: await product.createApiToken(account),
    NODE_EXTRA_CA_CERTS: product.caPath,
  };
  const start = async (...options: readonly string[]) => {
    const argv = [join(root, 'client/main.mjs'), 'mcp', '--print', 'url', ...options, '--', process.execPath, server];
    const child = spawn(process.execPath, argv, { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] });
    t.after(() => child.kill('SIGKILL'));
    let log = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
    const ended = once(child, 'close').then(([code]) => code as number);
    const line = once(createInterface(child.stdout), 'line').then(([text]) => String(text));
    const url = await Promise.race([line, ended.then((code) => assert.fail(`ended with ${code}: ${log}`))]);
    return { address: new URL('/mcp', url), log: () => log, ended, stop: () => child.kill('SIGINT') };
  };
  return { product, account, start, wireFetch: createFetch(product.caPem) };
}

async function connect(wireFetch: typeof fetch, address: URL, program: Program) {
  const client = new Client({ name: 'scribe', version: '1.0.0' }, { capabilities: { elicitation: {} } });
  const transport = new StreamableHTTPClientTransport(address, { authProvider: program, fetch: wireFetch });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Ann' } }));
  await client.connect(transport as never);
  const call = async (name: string, onprogress?: (step: { progress: number }) => void): Promise<string> => {
    const { content } = await client.callTool({ name, arguments: {} }, undefined, onprogress ? { onprogress } : {});
    return (content as { text: string }[])[0]!.text;
  };
  return { client, transport, call };
}

test('the client of the MCP SDK signs in and uses a stdio server through a tunnel', async (t) => {
  const { account, start, wireFetch } = await startStage(t);
  const made = await account.call('POST', `/api/access-policies?project=${account.project}`, { name: 'team', password });
  assert.equal(made.status, 200, JSON.stringify(made.body));
  const mcp = await start('--access', 'team');
  await eventually(() => /MCP server notes 1\.2\.3, one for each session\./.test(mcp.log()));
  const program = createProgram();
  await authorize({ wireFetch, address: mcp.address }, program);

  const one = await connect(wireFetch, mcp.address, program);
  const steps: number[] = [];
  assert.equal(await one.call('count', ({ progress }) => steps.push(progress)), 'three');
  assert.deepEqual(steps, [1, 2, 3]);
  assert.equal(await one.call('ask'), 'accept Ann');

  const changed = new Promise<void>((resolve) => {
    one.client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve());
  });
  assert.equal(await one.call('grow'), 'grown');
  await changed;

  const two = await connect(wireFetch, mcp.address, program);
  assert.notEqual(await one.call('pid'), await two.call('pid'));
  await two.transport.terminateSession();
  await assert.rejects(two.call('pid'));
  assert.equal(await one.call('count'), 'three');

  mcp.stop();
  assert.equal(await mcp.ended, 0, mcp.log());
  assert.match(mcp.log(), /the notes server has \*\*\*/);
  assert.doesNotMatch(mcp.log(), new RegExp(secret));
});

test('without --access the tunnel is for the members of the project, at the second start too', async (t) => {
  const { account, start, wireFetch } = await startStage(t);
  for (const time of ['first', 'second']) {
    const mcp = await start('--shared');
    const refused = await wireFetch(mcp.address, { method: 'POST', body: '{}' });
    assert.equal(refused.status, 401, time);
    mcp.stop();
    assert.equal(await mcp.ended, 0, mcp.log());
    assert.match(mcp.log(), /Visitors sign in under access policy mcp-members: Members\./);
  }
  const { body } = await account.call<AccessPolicy[]>('GET', `/api/access-policies?project=${account.project}`);
  assert.deepEqual(
    body.map(({ name, members }) => [name, members]),
    [['mcp-members', true]],
  );
});
