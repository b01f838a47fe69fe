import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parseFilePath } from './file-path.ts';
import { renderList, startFileServer } from './file-server.ts';

test('a path is names below the folder, and nothing that a system reads in another way', () => {
  for (const [target, onLinux, onWindows = onLinux] of [
    ['/', []],
    ['/a.txt', ['a.txt']],
    ['/a//b/', ['a', 'b']],
    ['/a%20b?x=/../#y', ['a b']],
    ['/%C3%A9.txt', ['é.txt']],
    ['/a..b', ['a..b']],
    ['/..', null],
    ['/a/../b', null],
    ['/%2e%2e/b', null],
    ['/%2E./b', null],
    ['/./a', null],
    ['/.git/config', null],
    ['/a/.env', null],
    ['/a%2fb', null],
    ['/a%5cb', null],
    ['/a\\b', null],
    ['/a%00.txt', null],
    ['/a%0ab', null],
    ['/%', null],
    ['/%ff', null],
    ['', null],
    ['a', null],
    ['http://a/b', null],
    ['*', null],
    ['/12:30.txt', ['12:30.txt'], null],
    ['/a.txt::$DATA', ['a.txt::$DATA'], null],
    ['/C:/a', ['C:', 'a'], null],
    ['/nul', ['nul'], null],
    ['/Con.txt', ['Con.txt'], null],
    ['/a.txt.', ['a.txt.'], null],
    ['/a%20', ['a '], null],
    ['/GIT~1/config', ['GIT~1', 'config'], null],
    ['/console.txt', ['console.txt']],
  ] as [string, string[] | null, (string[] | null)?][]) {
    assert.deepEqual(parseFilePath(target, false), onLinux, target);
    assert.deepEqual(parseFilePath(target, true), onWindows, `${target} on Windows`);
  }
});

async function served(t: TestContext, list = false) {
  const home = await mkdtemp(join(tmpdir(), 'underpass-serve-'));
  t.after(() => rm(home, { recursive: true, force: true }));
  const folder = join(home, 'site');
  await mkdir(join(folder, 'sub'), { recursive: true });
  await mkdir(join(folder, 'page'));
  await mkdir(join(folder, '.git'));
  await mkdir(join(home, 'site-other'));
  await writeFile(join(home, 'secret.txt'), 'secret');
  await writeFile(join(home, 'site-other', 'secret.txt'), 'secret');
  await writeFile(join(folder, 'a.txt'), '0123456789');
  await writeFile(join(folder, 'style.css'), 'a{}');
  await writeFile(join(folder, '.env'), 'secret');
  await writeFile(join(folder, '.git', 'config'), 'secret');
  await writeFile(join(folder, 'page', 'index.html'), '<h1>page</h1>');
  await symlink('a.txt', join(folder, 'inside'));
  await symlink('../secret.txt', join(folder, 'outside'));
  await symlink('../site-other', join(folder, 'beside'));
  await symlink('.env', join(folder, 'hidden'));
  await symlink('loop', join(folder, 'loop'));
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  const server = await startFileServer({ folder, list, isWindows: false });
  t.after(server.close);
  const get = (path: string, init?: RequestInit) =>
    fetch(`http://127.0.0.1:${server.port}${path}`, { redirect: 'manual', ...init });
  return { get, port: server.port, folder };
}

/** Sends the target as written: fetch would resolve dots away, and ask for the whole file again. */
async function raw(port: number, target: string, header = 'A: a'): Promise<string> {
  const socket = connect(port, '127.0.0.1').setTimeout(5_000, () => socket.destroy());
  socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n${header}\r\n\r\n`);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

test('a page of another site cannot read the files by a name that leads to this machine', async (t) => {
  const { port } = await served(t);
  for (const host of ['evil.example', `evil.example:${port}`, 'localhost', `localhost:${port}.evil.example`]) {
    const socket = connect(port, '127.0.0.1').setTimeout(5_000, () => socket.destroy());
    socket.write(`GET /a.txt HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    assert.match(Buffer.concat(chunks).toString(), /^HTTP\/1\.1 421 /);
  }
});

test('a file comes with its type, and asks again each time', async (t) => {
  const { get, port } = await served(t);
  const answer = await get('/style.css');
  assert.equal(answer.status, 200);
  assert.equal(await answer.text(), 'a{}');
  const { headers } = answer;
  assert.equal(headers.get('content-type'), 'text/css; charset=utf-8');
  assert.equal(headers.get('cache-control'), 'no-cache');
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  const conditions = [
    [`If-None-Match: ${headers.get('etag')}`, 304],
    [`If-Modified-Since: ${headers.get('last-modified')}`, 304],
    ['If-None-Match: "other"', 200],
    ['If-Match: "other"', 412],
  ] as const;
  for (const [header, status] of conditions)
    assert.match(await raw(port, '/style.css', header), new RegExp(`^HTTP/1\\.1 ${status} `), header);
});

test('ranges are answered, and one behind the end is refused', async (t) => {
  const { get } = await served(t);
  const part = await get('/a.txt', { headers: { range: 'bytes=2-4' } });
  assert.deepEqual([part.status, await part.text(), part.headers.get('content-range')], [206, '234', 'bytes 2-4/10']);
  assert.equal(await (await get('/a.txt', { headers: { range: 'bytes=-3' } })).text(), '789');
  assert.equal((await get('/a.txt', { headers: { range: 'bytes=90-' } })).status, 416);
});

test('HEAD is GET without the body, and other methods are refused', async (t) => {
  const { get } = await served(t);
  const head = await get('/a.txt', { method: 'HEAD' });
  assert.deepEqual([head.status, head.headers.get('content-length'), await head.text()], [200, '10', '']);
  const post = await get('/a.txt', { method: 'POST', body: 'x' });
  assert.deepEqual([post.status, post.headers.get('allow')], [405, 'GET, HEAD']);
});

test('a folder is its index.html; without one it is not found, and never listed by itself', async (t) => {
  const { get } = await served(t);
  const moved = await get('/page?a=1');
  assert.deepEqual([moved.status, moved.headers.get('location')], [301, './page/?a=1']);
  const page = await get('/page/');
  assert.deepEqual([await page.text(), page.headers.get('content-type')], ['<h1>page</h1>', 'text/html; charset=utf-8']);
  assert.equal((await get('/')).status, 404);
  assert.equal((await get('/sub/')).status, 404);
});

test('nothing outside the folder, no dotfile and no device is reachable', async (t) => {
  const { port } = await served(t, true);
  const targets = [
    ...['/../secret.txt', '/%2e%2e/secret.txt', '/sub/../../secret.txt', '/..%2fsecret.txt', '//../secret.txt'],
    ...['/outside', '/beside/secret.txt', '/beside/', '/../site-other/secret.txt', '/loop', '/pipe', '/hidden'],
    ...['/.env', '/.git/config', '/.git/', '/%2eenv', '/a.txt/', '/a.txt%00', '/missing', '/..\\secret.txt'],
  ];
  for (const target of targets) {
    const answer = await raw(port, target);
    assert.match(answer, /^HTTP\/1\.1 (404|301|400) /, target);
    assert.equal(answer.includes('secret\n') || answer.endsWith('secret'), false, target);
  }
  assert.match(await raw(port, '/inside'), /0123456789$/);
});

test('a redirect stays on this host, whatever the path', async (t) => {
  const { port, folder } = await served(t);
  await mkdir(join(folder, 'evil.example'));
  assert.match(await raw(port, '//evil.example'), /location: \.\/evil\.example\/\r\n/);
});

test('--list shows names, no dotfiles, as text', async (t) => {
  const { get, folder } = await served(t, true);
  await writeFile(join(folder, 'a&<b>.txt'), '');
  const list = await get('/');
  const html = await list.text();
  assert.equal(list.headers.get('content-security-policy'), "default-src 'none'");
  assert.match(html, /<a href="\.\/a%26%3Cb%3E\.txt">a&amp;&lt;b&gt;\.txt<\/a>/);
  assert.match(html, /<a href="\.\/sub\/">sub\/<\/a>/);
  assert.doesNotMatch(html, /\.env|\.git/);
  assert.match(await (await get('/sub/')).text(), /<a href="\.\.\/">/);
  assert.match(renderList(['"><script>'], []), /<title>\/&quot;&gt;&lt;script&gt;<\/title>/);
});

test('a folder that is none is an error', async (t) => {
  const { folder } = await served(t);
  for (const wrong of [join(folder, 'a.txt'), join(folder, 'missing')])
    await assert.rejects(startFileServer({ folder: wrong, list: false, isWindows: false }), { code: 'folder-unusable' });
});
