// gRPC through an http tunnel: gRPC's own interop client and server, grpcurl, and visitors that speak HTTP/1.1.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { eventually } from '@underpass/rules/test-kit.ts';
import { createTestAuthority } from '@underpass/wire/fixture/certificate.ts';
import { expect, launchChromium } from '../helpers/browser.ts';
import { buildGrpcPeers, startGrpcServer } from '../helpers/grpc-peers.ts';
import { type ProcessOf, startProcess } from '../helpers/process.ts';
import { type Account, type Product, startProduct, tunnelCreated } from '../helpers/product.ts';
import { requireTool, skipWithout } from '../helpers/tool.ts';
import { getRequest, say } from '../helpers/visitor.ts';

const run = promisify(execFile);
const caseTimeoutMs = 90_000;

interface Place {
  readonly product: Product;
  readonly account: Account;
  readonly tunnel: Tunnel;
  readonly host: string;
  readonly peers: string;
  readonly folder: string;
}

async function startPlace(t: TestContext): Promise<Place> {
  const peers = buildGrpcPeers();
  const product = await startProduct(t);
  const account = await product.signIn();
  const tunnel = await tunnelCreated(account, 'first');
  const folder = mkdtempSync(join(tmpdir(), 'underpass-grpc-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'token'), tunnel.token ?? '', { mode: 0o600 });
  return { product, account, tunnel, host: tunnel.ingressDomains[0]!.name, peers, folder };
}

async function startClient(
  t: TestContext,
  { tunnel, folder }: Place,
  upstream: string,
  more: readonly string[] = [],
): Promise<ProcessOf> {
  const flags = ['--url', tunnel.url, '--token-file', join(folder, 'token'), '--upstream', upstream];
  const client = startProcess(t, ['client/main.ts', 'http', ...flags, ...more]);
  await client.seen(/ connected /);
  return client;
}

const runCase = ({ peers, product, host }: Place, name: string, flags: readonly string[] = []) =>
  run(peers, ['-address', `127.0.0.1:${product.ports.https}`, '-name', host, '-ca', product.caPath, ...flags, name], {
    timeout: caseTimeoutMs,
  });

const cases = [
  'empty_unary',
  'large_unary',
  'client_streaming',
  'server_streaming',
  'ping_pong',
  'empty_stream',
  'timeout_on_sleeping_server',
  'cancel_after_begin',
  'cancel_after_first_response',
  'custom_metadata',
  'status_code_and_message',
  'special_status_message',
];

test('gRPC passes through an http tunnel', { skip: skipWithout('go', 'grpcurl', 'chromium') }, async (t) => {
  const place = await startPlace(t);
  const { product, account, host } = place;
  const plain = await startGrpcServer(t, place.peers);
  const client = await startClient(t, place, `h2c://127.0.0.1:${plain.port}`);
  const grpcurl = (...flags: readonly string[]): Promise<string> =>
    run(requireTool('grpcurl'), [
      ...['-cacert', product.caPath, '-authority', host],
      ...flags.slice(0, -1),
      `127.0.0.1:${product.ports.https}`,
      flags.at(-1)!,
    ]).then(
      ({ stdout }) => stdout,
      (error: { stderr: string }) => error.stderr,
    );
  const health = 'grpc.health.v1.Health/Check';

  for (const name of cases) {
    await t.test(`${name} to a plain upstream`, async () => {
      assert.match((await runCase(place, name)).stdout, new RegExp(`OK ${name}`));
    });
  }

  await t.test('grpcurl lists services by reflection, and the health service answers', async () => {
    assert.match(await grpcurl('list'), /^grpc\.testing\.TestService$/m);
    assert.match(await grpcurl('-d', '{}', health), /"status": "SERVING"/);
  });

  await t.test('a visitor with HTTP/1.1 gets an answer of the same upstream', async () => {
    const answer = await say(
      { port: product.ports.https, host, caPem: product.caPem },
      getRequest({ port: product.ports.https, host, caPem: '' }),
    );
    // What grpc-go answers to a GET.
    assert.match(answer, /^HTTP\/1\.1 (405|415) /);
  });

  await t.test('an access policy answers in gRPC, and admits a machine token', async () => {
    const { call, project } = account;
    await call('POST', `/api/access-policies?project=${project}`, { name: 'team', members: true });
    const made = await call<{ token: string }>('POST', `/api/access-policies/team/tokens?project=${project}`, { name: 'ci' });
    assert.equal(typeof made.body.token, 'string', JSON.stringify(made.body));
    await call('PATCH', `/api/tunnels/first?project=${project}`, { accessPolicy: 'team' });
    const until = async (pattern: RegExp, ...flags: readonly string[]): Promise<void> => {
      await eventually(
        () => grpcurl(...flags, '-d', '{}', health),
        (text) => pattern.test(text),
      );
    };
    await until(/code = Unauthenticated desc = .*UNDERPASS_SIGN_IN_REQUIRED: /);
    await until(/"status": "SERVING"/, '-H', `authorization: Bearer ${made.body.token}`);
    const flags = ['-token', `Bearer ${made.body.token}`];
    assert.match((await runCase(place, 'ping_pong', flags)).stdout, /OK/);
    await call('PATCH', `/api/tunnels/first?project=${project}`, { accessPolicy: '' });
    await until(/"status": "SERVING"/);
  });

  await t.test('an upstream that is down is UNAVAILABLE', async () => {
    await plain.process.end('SIGKILL');
    assert.match(await grpcurl('-d', '{}', health), /code = Unavailable desc = .*UNDERPASS_/);
  });
  await client.end();

  await t.test('an upstream with TLS', async (t) => {
    const { issue, certificatePem } = await createTestAuthority();
    const { keyPem, chainPem } = await issue(['grpc.test']);
    const file = (name: string, text: string): string => {
      writeFileSync(join(place.folder, name), text);
      return join(place.folder, name);
    };
    const flags = ['-cert', file('cert.pem', chainPem), '-key', file('key.pem', keyPem)];
    const server = await startGrpcServer(t, place.peers, flags);
    // The certificate is for another name than that of the upstream.
    const secure = await startClient(t, place, `https+h2://127.0.0.1:${server.port}`, [
      '--upstream-ca',
      file('ca.pem', certificatePem),
    ]);
    assert.match(await grpcurl('-d', '{}', health), /code = Unavailable desc = .*UNDERPASS_UPSTREAM_TLS: /);
    await secure.end();
    await startClient(t, place, `https+h2://127.0.0.1:${server.port}`, ['--upstream-insecure']);
    for (const name of cases) assert.match((await runCase(place, name)).stdout, new RegExp(`OK ${name}`), name);
    assert.match(await grpcurl('-d', '{}', health), /"status": "SERVING"/);
  });
});

test('no call is lost while the server leaves its connections with GOAWAY', { skip: skipWithout('go') }, async (t) => {
  const place = await startPlace(t);
  const server = await startGrpcServer(t, place.peers, ['-max-age', '300ms', '-max-calls', '4']);
  await startClient(t, place, `h2c://127.0.0.1:${server.port}`);
  assert.match((await runCase(place, 'many_calls', ['-calls', '4000'])).stdout, /OK/);
});

/** A message or the trailers of gRPC-Web: a flag, the length, the bytes. */
function webFrame(flag: 0 | 0x80, payload: string): Buffer {
  const head = Buffer.from([flag, 0, 0, 0, 0]);
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, Buffer.from(payload)]);
}

const callFromPage = `fetch('/pkg.Echo/Say', {
  method: 'POST',
  headers: { 'content-type': 'application/grpc-web+proto', 'x-grpc-web': '1' },
  body: new Uint8Array([0, 0, 0, 0, 5, 104, 101, 108, 108, 111]),
}).then(async (answer) => [answer.status, answer.headers.get('grpc-status'), await answer.text()])`;

test('a page in Chromium calls a gRPC-Web service that speaks HTTP/2 alone', { skip: skipWithout('chromium') }, async (t) => {
  const server = createServer();
  const sessions: ServerHttp2Session[] = [];
  server.on('session', (session) => sessions.push(session));
  server.on('stream', (stream: ServerHttp2Stream, fields) => {
    if (fields[':method'] === 'GET') {
      stream.respond({ ':status': 200, 'content-type': 'text/html' });
      stream.end('<!doctype html><title>calls</title>');
      return;
    }
    const bytes: Buffer[] = [];
    stream.on('data', (piece: Buffer) => bytes.push(piece));
    stream.on('end', () => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc-web+proto' });
      stream.write(webFrame(0, `heard ${Buffer.concat(bytes).subarray(5)}`));
      stream.end(webFrame(0x80, 'grpc-status:0\r\n'));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const place = await startPlace(t);
  const browser = await launchChromium();
  t.after(() => browser.close());
  await startClient(t, place, `h2c://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const page = await browser.newPage({ ignoreHTTPSErrors: true });
  await page.goto(place.tunnel.ingressDomains[0]!.url);
  await expect(page).toHaveTitle('calls');
  const answer = await page.evaluate(callFromPage);
  assert.deepEqual(answer, [200, null, `${webFrame(0, 'heard hello')}${webFrame(0x80, 'grpc-status:0\r\n').toString()}`]);
  // Without its service the page hears it in the words of gRPC-Web.
  server.close();
  for (const session of sessions) session.destroy();
  const down = (await page.evaluate(callFromPage)) as [number, string, string];
  assert.deepEqual([down[0], down[1]], [200, '14']);
});
