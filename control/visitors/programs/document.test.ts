// The document that a program's id is the address of: which ids are fetched, where to, and what of the answer counts.

import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createRoot, issueLeaf } from '../../edges/certificate/x509.ts';
import { LimitReached } from '../../platform/limit/limit-reached.ts';
import { isDocumentId } from './core/client-metadata.ts';
import { createDocumentReader, publicNet } from './document.ts';

const host = 'scribe.example';
const document = (client_id: string, more: object = {}): string =>
  JSON.stringify({ client_id, client_name: 'Scribe', redirect_uris: ['http://127.0.0.1/callback'], ...more });

/** A site on loopback, and a reader that may reach it. */
async function startSite(t: TestContext, listener: RequestListener) {
  const lifespan = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3600_000) };
  const root = await createRoot('Test', lifespan);
  const leaf = await issueLeaf(root, [host], lifespan);
  const server = createServer({ cert: leaf.certificatePem, key: leaf.privateKeyPem }, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const net = { addressesOf: async () => ['127.0.0.1'], isAllowed: () => true, ca: root.certificatePem };
  const readFor = createDocumentReader(net);
  const read = (id: string, address = '192.0.2.1') => readFor(id, address);
  return { at: (path: string) => `https://${host}:${port}${path}`, read };
}

test('reads a document once, and keeps it for a while', async (t) => {
  let asked = 0;
  const site = await startSite(t, (_, response) => {
    asked += 1;
    response.setHeader('content-type', 'application/json').end(document(site.at('/program.json')));
  });
  const id = site.at('/program.json');
  const wanted = { id, name: 'Scribe', redirectUris: ['http://127.0.0.1/callback'], isDocument: true };
  assert.deepEqual(await Promise.all([site.read(id), site.read(id)]), [wanted, wanted]);
  assert.deepEqual(await site.read(id), wanted);
  assert.equal(asked, 1);
});

test('refuses answers that say too much, lead elsewhere or are of another program', async (t) => {
  const answers: Record<string, [RequestListener, RegExp]> = {
    '/redirect': [(_, response) => response.writeHead(302, { location: 'https://127.0.0.1/' }).end(), /status 302/],
    '/html': [(_, response) => response.setHeader('content-type', 'text/html').end(document(site.at('/html'))), /else than JSON/],
    '/long': [json((id) => document(id, { more: 'x'.repeat(10_240) })), /longer than 10240 bytes/],
    '/other': [json(() => document(site.at('/mine'))), /another client_id/],
    '/secret': [json((id) => document(id, { client_secret: 'x' })), /holds a secret/],
    '/list': [json((id) => `[${document(id)}]`), /not a JSON object/],
    '/uri': [json((id) => document(id, { redirect_uris: ['javascript:alert(1)'] })), /redirect_uris/],
  };
  const site = await startSite(t, (request, response) => answers[request.url!]![0](request, response));
  function json(text: (id: string) => string): RequestListener {
    return (request, response) => response.setHeader('content-type', 'application/json').end(text(site.at(request.url!)));
  }
  for (const [path, [, wanted]] of Object.entries(answers)) assert.match(String(await site.read(site.at(path))), wanted);
});

test('does not connect to addresses inside the network, or to other ports than 443', async () => {
  const looked: string[] = [];
  const asked = (addresses: readonly string[]) => {
    const lookup = async (name: string) => {
      looked.push(name);
      return addresses;
    };
    const read = createDocumentReader(publicNet({ lookup }));
    return (id: string) => read(id, '192.0.2.1');
  };
  const inside = ['127.0.0.1', '10.0.0.7', '169.254.169.254', '::1', 'fd00::1', '::ffff:127.0.0.1', '64:ff9b::7f00:1', '0.0.0.0'];
  for (const address of inside) assert.match(String(await asked([address])(`https://${host}/a`)), /no public address/, address);
  assert.match(
    String(await asked(['192.0.9.1', '127.0.0.1'])(`https://${host}/a`)),
    /no public address/,
    'one inside address among others',
  );
  assert.match(String(await asked(['192.0.9.1'])(`https://${host}:6379/a`)), /no public address/, 'another port');
  assert.match(String(await asked([])(`https://${host}/a`)), /no public address/);
  looked.length = 0;
  for (const id of ['https://127.0.0.1/a', 'https://[::1]/a', 'https://192.0.9.1/a'])
    assert.match(String(await asked(['192.0.9.1'])(id)), /is an address/);
  assert.deepEqual(looked, []);
});

test('sites that stay silent take few places of one network, and none of the others', async () => {
  const addressesOf = (name: string) => (name === host ? Promise.resolve([]) : new Promise<never>(() => {}));
  const read = createDocumentReader({ addressesOf, isAllowed: () => true });
  const ask = (at: number) => read(`https://s${at}.example/a`, `2001:db8:0:${at}::1`);
  for (let at = 0; at < 8; at++) void ask(at);
  await assert.rejects(ask(8), LimitReached);
  assert.match(String(await read(`https://${host}/a`, '2001:db8:1::1')), /no public address/);
});

test('takes only ids that read one way', () => {
  for (const id of ['https://scribe.example/a', 'https://scribe.example/a/b.json?v=1', 'https://scribe.example:8443/a'])
    assert.equal(isDocumentId(id), true, id);
  for (const id of [
    'http://scribe.example/a',
    'https://scribe.example',
    'https://scribe.example/',
    'https://scribe.example/a#b',
    'https://ann@scribe.example/a',
    'https://scribe.example/a/../b',
    'https://scribe.example/./a',
    'https://SCRIBE.example/a',
    'https://scribe.example:443/a',
    'https://2130706433/a',
    'https://0x7f.1/a',
    'https://scribe.example\\a',
    'https://scribe.example/a b',
    `https://scribe.example/${'a'.repeat(512)}`,
  ])
    assert.equal(isDocumentId(id), false, id);
});
