import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { parseConfig } from '../config/config-file.ts';
import { accountRoutes, binary, createCli, startFakeApi } from '../test-kit.ts';

const inTerminal = { skip: binary && 'the terminal is made up' };

const shop = {
  ...{ name: 'shop', type: 'http', region: 'local', status: 'Created', connectedClients: 0, token: 'secret' },
  ingressDomains: [{ name: 'shop.localhost', apexName: '', verified: true, url: 'https://shop.localhost' }],
};
const all = [
  shop,
  { ...shop, name: 'busy', connectedClients: 1 },
  { ...shop, name: 'cluster', type: 'ingress' },
  { ...shop, name: 'otter', expiresAt: '2026-11-20T10:05:00.000Z' },
];

/** A machine of three services, of which the first runs in the project's folder. */
async function world(t: TestContext, { env = {} }: { readonly env?: Readonly<Record<string, string>> } = {}) {
  const api = await startFakeApi(t, {
    ...accountRoutes,
    'GET /api/tunnels': { body: all },
    'GET /api/regions': { body: [{ name: 'local', description: '', available: true }] },
    'POST /api/tunnels': ({ body }) => ({ status: 201, body: { ...shop, ...(body as object), ingressDomains: [] } }),
  });
  const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok', ...env });
  const folder = join(cli.home, 'My Shop');
  await mkdir(folder);
  const listening = 'p5\ncnode\nn*:3000\nn*:22\np6\ncphp\nn10.1.2.3:8000\np7\ncunderpass\nn127.0.0.1:8471\n';
  const execute = async (_file: string, [first]: readonly string[]) => ({
    code: 0,
    stdout: first === '-a' ? `p5\nn${folder}\np6\nn${cli.home}\n` : listening,
    stderr: '',
  });
  const answer = (...lines: readonly string[]) => {
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    stdin.end(lines.map((line) => `${line}\n`).join(''));
    return cli.run(['init'], { cwd: folder, io: { stdin, platform: 'darwin', execute } });
  };
  const made = () => api.calls.filter(({ method }) => method === 'POST').map(({ body }) => body);
  const path = join(folder, 'underpass.yaml');
  const written = async () => {
    const parsed = parseConfig(await readFile(path, 'utf8'), folder, cli.home);
    assert.ok(parsed.ok);
    return parsed.config.tunnels;
  };
  return { api, cli, folder, path, answer, made, written };
}

test('Enter takes the port of this folder, names its tunnel after it, and makes the tunnel', inTerminal, async (t) => {
  const { folder, path, answer, made, written, cli } = await world(t);
  const { code, stdout, stderr } = await answer('', '', '');
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^PORT +PROGRAM +FOLDER\n3000 +node +~\/My Shop\n22 +node \(SSH, not HTTP\) .*\n8000 +php +~\n\n/);
  assert.match(stderr, /3000,5173 \[3000\]: Tunnel for port 3000 \[my-shop\]: There is no tunnel my-shop\. Create it/);
  assert.deepEqual(made(), [{ name: 'my-shop', region: 'local', ingressDomains: [], proxyProtocol: '', type: 'http' }]);
  const upstream = { scheme: 'http', host: 'localhost', port: 3000 };
  const upstreams = { type: 'http', list: [{ domain: null, upstream, sentHost: 'localhost:3000' }] };
  assert.deepEqual(await written(), [{ name: 'my-shop', upstreams, upstreamInsecure: false }]);
  assert.equal(stdout, `Wrote ${path}:\n  my-shop → http://localhost:3000\nNext: underpass run\n`);
  assert.doesNotMatch(await readFile(path, 'utf8'), /tok|secret$/m);
  // Confirmed: without a terminal `run` goes on to look the tunnel up.
  assert.match(
    (await cli.run(['run'], { cwd: folder })).stderr,
    /there is no tunnel my-shop in your project\n.*tunnels add my-shop --generate-domain/,
  );
});

test('several ports, an existing tunnel, one for later, and wrong answers that are asked again', inTerminal, async (t) => {
  const { answer, made, written } = await world(t);
  const ports = ['3000;8000', '70000', '3000, 8000 9000'];
  const names = ['Not a name', 'shop', '', 'shop', 'cluster', 'otter', 'busy', '', 'api', 'n', '123', 'y'];
  const { code, stdout, stderr } = await answer(...ports, ...names);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /'3000;8000' is not a port.*\n.*'70000' is not a port.*\n.*Nothing listens on 9000 now/);
  assert.match(stderr, /shop exists at https:\/\/shop\.localhost\. Use it\? \[Y\/n\] /);
  assert.match(stderr, /shop is already for another port\. .*cluster is an ingress tunnel, .*otter is a quick tunnel, /s);
  assert.match(stderr, /Another client carries busy at .*, and visitors would reach each of you in turn\. Use it\? \[y\/N\] /);
  assert.deepEqual(
    (await written()).map(({ name }) => name),
    ['shop', 'api', '123'],
  );
  assert.deepEqual(
    made().map((body) => (body as { name: string }).name),
    ['123'],
  );
  assert.match(stdout, /\n {2}https:\/\/shop\.localhost → http:\/\/localhost:3000\n {2}api → http:\/\/10\.1\.2\.3:8000\n/);
  assert.match(stdout, /\nFirst create api: underpass tunnels add api --domain NAME\nNext: underpass run\n$/);
});

test('an existing file stays without a yes, and a link is replaced, not what it leads to', inTerminal, async (t) => {
  const { cli, folder, path, answer, api } = await world(t);
  const other = join(cli.home, 'other');
  await writeFile(other, 'kept');
  await symlink(other, path);
  const { code, stderr } = await answer('');
  assert.equal(code, 2);
  assert.match(stderr, /underpass\.yaml exists\. Replace it\? \[y\/N\] error: Not confirmed/);
  assert.deepEqual(api.calls, []);
  assert.equal((await answer('y', '', 'shop', 'y')).code, 0);
  assert.equal(await readFile(other, 'utf8'), 'kept');
  assert.match(await readFile(path, 'utf8'), /name: shop/);
  assert.deepEqual(await readdir(folder), ['underpass.yaml']);
});

test('the end of the input writes and makes nothing', inTerminal, async (t) => {
  const { folder, answer, made } = await world(t);
  const { code, stderr } = await answer('', '');
  assert.equal(code, 2);
  assert.match(stderr, /generated address\? \[Y\/n\] \nerror: Not confirmed, nothing was changed/);
  assert.deepEqual([await readdir(folder), made()], [[], []]);
});

test('without a terminal init says what to do', async (t) => {
  const { cli, api } = await world(t);
  const { code, stderr } = await cli.run(['init']);
  assert.equal(code, 2);
  assert.match(stderr, /init asks questions, so it needs a terminal\n {2}fix: Run it in a terminal, or write/);
  assert.deepEqual(api.calls, []);
});
