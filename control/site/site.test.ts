// Everything but the calls: pages, assets, downloads, installers, health, headers; and what is never served.

import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Release } from '@underpass/rules/entity/resource.ts';
import { sql } from 'kysely';
import { createTestControl, type TestControl } from '../test-kit.ts';

let root: string;
let test: TestControl;

function put(path: string, text: string): void {
  mkdirSync(join(root, path, '..'), { recursive: true });
  writeFileSync(join(root, path), text);
}

before(async () => {
  root = mkdtempSync(join(tmpdir(), 'underpass-site-'));
  put('dist/index.html', '<!doctype html><title>Underpass</title>');
  put('dist/signed-in.html', '<!doctype html><title>Underpass for members</title>');
  put(
    'dist/signed-in.tunnels.html',
    '<!doctype html><head><title>Tunnels for members</title><link rel="preload" as="fetch" href="/api/user"></head>',
  );
  put('dist/sign-in.html', '<!doctype html><title>Underpass sign-in</title>');
  put('dist/favicon.svg', '<svg/>');
  put('dist/assets/main-Bq3xK9_a.js', 'console.log(1)');
  put('dist/assets/main-Bq3xK9_a.js.br', 'brotli');
  put('dist/assets/main-Bq3xK9_a.js.gz', 'gzip');
  put('dist/.env', 'SECRET=1');
  put('secret.txt', 'outside');
  for (const version of ['0.9.0', '0.10.0', '0.10.0-rc.1', 'not-a-version']) {
    put(`releases/${version}/underpass-linux-x64`, `binary ${version}`);
    put(`releases/${version}/SHA256SUMS`, 'sums');
    put(`releases/${version}/underpass-linux-x64.sig`, 'signature');
  }
  put('install/install.sh', '#!/bin/sh\ncurl @ORIGIN@/releases\nkey=@RELEASE_KEY@\n');
  const settings = {
    dashboard: join(root, 'dist'),
    releases: join(root, 'releases'),
    installers: join(root, 'install'),
    localCa: 'PEM',
  };
  test = await createTestControl({ settings });
});
after(async () => {
  await test.close();
  rmSync(root, { recursive: true });
});

const get = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> =>
  test.control.fetch(new Request(`http://localhost:8400${path}`, { method, headers }), { remoteAddress: '192.0.2.1' });

describe('the dashboard', () => {
  for (const path of ['/', '/login', '/magiclink/token', '/projects/p1/tunnels/shop', '/no/such/page']) {
    it(`answers ${path} with its page, to be revalidated`, async () => {
      const response = await get(path, { accept: 'text/html' });
      assert.deepEqual([response.status, response.headers.get('cache-control')], [200, 'no-cache']);
      assert.match(await response.text(), /<title>Underpass/);
    });
  }

  it('gives browsers with a session cookie the page that loads the signed-in screens, under a tag of its own', async () => {
    const page = await get('/projects/p1/tunnels', { cookie: 'other=1; underpass-session=any' });
    const publicPage = await get('/projects/p1/tunnels', { cookie: 'other=1' });
    assert.match(await page.text(), /for members/);
    assert.doesNotMatch(await publicPage.text(), /for members/);
    assert.notEqual(page.headers.get('etag'), publicPage.headers.get('etag'));
    assert.equal(page.headers.get('vary'), 'accept-encoding, cookie');
  });

  it('brings the user and the projects of the session, as data that no browser runs or keeps', async () => {
    const client = await test.signUp('ann@example.com');
    await client.call('POST', '/api/projects', { name: 'a</script><script>' });
    const page = await client.send('GET', '/projects/p1/tunnels', undefined, { 'accept-encoding': 'br' });
    assert.deepEqual([page.headers.get('cache-control'), page.headers.get('content-encoding')], ['no-store', null]);
    const html = await page.text();
    assert.match(html, /Tunnels for members/);
    assert.doesNotMatch(html, /as="fetch"/);
    const [, json = ''] = /<script type="application\/json" id="session">([^<]*)<\/script>\n {2}<\/head>/.exec(html) ?? [];
    const { user, projects } = JSON.parse(json);
    assert.equal(user.email, 'ann@example.com');
    assert.ok(projects.some(({ name }: { name: string }) => name === 'a</script><script>'));
  });

  it('asks nothing for an image, a frame or a prefetch: another site could use up the calls of the session', async () => {
    const client = await test.signUp('bob@example.com');
    const others: Record<string, string>[] = [
      { 'sec-fetch-dest': 'image' },
      { 'sec-fetch-dest': 'iframe' },
      { 'sec-fetch-dest': 'document', 'sec-purpose': 'prefetch' },
    ];
    for (const headers of others) {
      const page = await client.send('GET', '/projects/p1/tunnels', undefined, headers);
      assert.doesNotMatch(await page.text(), /bob@example.com/);
    }
    const opened = await client.send('GET', '/projects/p1/tunnels', undefined, { 'sec-fetch-dest': 'document' });
    assert.match(await opened.text(), /bob@example.com/);
  });

  it('asks nothing for a session that has ended: the page asks itself', async () => {
    const page = await get('/projects/p1/tunnels', { cookie: 'underpass-session=ended' });
    assert.match(await page.text(), /as="fetch" href="\/api\/user"/);
    assert.equal(page.headers.get('cache-control'), 'no-cache');
  });

  it('names the first calls of a signed-in page, so that a browser makes them while the scripts load', async () => {
    const linkOf = async (path: string, cookie: string) => (await get(path, { cookie })).headers.get('link');
    const signedIn = 'underpass-session=any';
    const call = '/api/tunnels?project=p1&q=a%3E+b&sort=name&limit=50';
    assert.equal(await linkOf('/projects/p1/tunnels?q=a%3E%20b&new=', signedIn), `<${call}>; rel=preload; as=fetch; crossorigin`);
    assert.equal(
      await linkOf('/projects/p1/tunnels/shop', signedIn),
      ['shop?project=p1&metrics=1', 'shop/domains?project=p1']
        .map((rest) => `</api/tunnels/${rest}>; rel=preload; as=fetch; crossorigin`)
        .join(', '),
    );
    assert.equal(await linkOf('/projects/p1/settings', signedIn), null);
    assert.equal(await linkOf('/projects/p1/tunnels', 'other=1'), null);
  });

  it('gives browsers without one the sign-in where that is what they will see', async () => {
    for (const path of ['/', '/login']) {
      assert.match(await (await get(path)).text(), /sign-in/);
      assert.match(await (await get(path, { cookie: 'underpass-session=any' })).text(), /for members/);
    }
    assert.doesNotMatch(await (await get('/register')).text(), /sign-in/);
  });

  it('lets browsers keep files with a hash in their name, in the smallest form that they accept', async () => {
    const path = '/assets/main-Bq3xK9_a.js';
    for (const [accepted, encoding, body] of [
      ['gzip, br', 'br', 'brotli'],
      ['gzip', 'gzip', 'gzip'],
      ['br;q=0, gzip;q=0.5', 'gzip', 'gzip'],
      ['', null, 'console.log(1)'],
    ] as const) {
      const response = await get(path, { 'accept-encoding': accepted });
      assert.equal(response.headers.get('cache-control'), 'public, max-age=31536000, immutable');
      assert.equal(response.headers.get('content-encoding'), encoding);
      assert.match(response.headers.get('content-type') ?? '', /^text\/javascript/);
      assert.equal(response.headers.get('vary'), 'accept-encoding');
      assert.equal(await response.text(), body);
    }
  });

  it('answers 304 for a known page, and only headers to HEAD', async () => {
    const etag = (await get('/')).headers.get('etag')!;
    assert.equal((await get('/', { 'if-none-match': etag })).status, 304);
    const head = await get('/', {}, 'HEAD');
    assert.deepEqual([head.status, await head.text()], [200, '']);
  });

  for (const path of [
    '/assets/gone-12345678.js',
    '/../secret.txt',
    '/%2e%2e/secret.txt',
    '/..%2fsecret.txt',
    '/assets/../../secret.txt',
    '/assets/%2e%2e%2f%2e%2e%2fsecret.txt',
    '/.env',
    '/%2eenv',
    '/assets/.env',
    '/assets\\..\\secret.txt',
    '/assets/a%00.js',
    `/${'a/'.repeat(400)}x`,
  ]) {
    it(`never serves a file by ${path.slice(0, 40)}`, async () => {
      const response = await get(path, { accept: 'application/javascript' });
      assert.doesNotMatch(await response.text(), /outside|SECRET/);
      assert.equal(response.status, 404);
    });
  }
});

describe('downloads', () => {
  it('are listed newest first, with size and checksum', async () => {
    const releases = (await (await get('/api/releases')).json()) as Release[];
    assert.deepEqual(
      releases.map((release) => release.version),
      ['0.10.0', '0.10.0-rc.1', '0.9.0'],
    );
    assert.deepEqual(releases[0]?.files, [
      {
        name: 'underpass-linux-x64',
        platform: 'linux-x64',
        size: 13,
        sha256: createHash('sha256').update('binary 0.10.0').digest('hex'),
        url: '/releases/0.10.0/underpass-linux-x64',
      },
    ]);
  });

  it('are served at the listed URL, checksums too', async () => {
    const response = await get('/releases/0.10.0/underpass-linux-x64');
    assert.deepEqual(
      [response.headers.get('content-type'), response.headers.get('content-length')],
      ['application/octet-stream', '13'],
    );
    assert.equal(await response.text(), 'binary 0.10.0');
    assert.equal((await get('/releases/0.10.0/SHA256SUMS')).status, 200);
    assert.equal((await get('/releases/0.10.0')).status, 404);
    assert.equal((await get('/releases/..%2f..%2fsecret.txt')).status, 404);
  });

  it('can be resumed, for the same version of the file only', async () => {
    const path = '/releases/0.10.0/underpass-linux-x64';
    const whole = await get(path);
    const etag = whole.headers.get('etag') ?? '';
    assert.equal(whole.headers.get('accept-ranges'), 'bytes');
    const rest = await get(path, { range: 'bytes=7-', 'if-range': etag });
    assert.deepEqual(
      [rest.status, rest.headers.get('content-range'), rest.headers.get('content-length'), await rest.text()],
      [206, 'bytes 7-12/13', '6', '0.10.0'],
    );
    const changed = await get(path, { range: 'bytes=7-', 'if-range': '"another"' });
    assert.deepEqual([changed.status, await changed.text()], [200, 'binary 0.10.0']);
    const beyond = await get(path, { range: 'bytes=13-' });
    assert.deepEqual([beyond.status, beyond.headers.get('content-range'), await beyond.text()], [416, 'bytes */13', '']);
    assert.equal((await get(path, { 'if-none-match': `W/"a", ${etag}` })).status, 304);
    const head = await get(path, { range: 'bytes=7-' }, 'HEAD');
    assert.deepEqual([head.status, head.headers.get('content-length'), await head.text()], [200, '13', '']);
    const part = await get('/assets/main-Bq3xK9_a.js', { 'accept-encoding': 'br', range: 'bytes=0-1' });
    assert.deepEqual([part.status, part.headers.get('content-encoding'), await part.text()], [206, 'br', 'br']);
  });

  it('can be empty files', async () => {
    put('releases/0.9.0/empty.txt', '');
    const response = await get('/releases/0.9.0/empty.txt');
    assert.deepEqual([response.status, response.headers.get('content-length'), await response.text()], [200, '0', '']);
    assert.equal((await get('/releases/0.9.0/empty.txt', { range: 'bytes=0-' })).status, 416);
  });

  it('have an installer that fetches from this server', async () => {
    const installer = async () => (await get('/install.sh')).text();
    assert.equal(await installer(), '#!/bin/sh\ncurl http://localhost:8400/releases\nkey=\n');
    const { publicKey } = generateKeyPairSync('ed25519');
    put('releases/release-key.pem', publicKey.export({ type: 'spki', format: 'pem' }).toString());
    const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
    assert.equal(await installer(), `#!/bin/sh\ncurl http://localhost:8400/releases\nkey=${key}\n`);
    put('releases/release-key.pem', '$(touch owned)');
    assert.match(await installer(), /^key=$/m);
    assert.equal((await get('/install.ps1')).status, 404);
  });

  it('appear when the first release is built, without a restart', async () => {
    const folder = join(root, 'later');
    const early = await createTestControl({ settings: { releases: folder } });
    const versions = async () => ((await early.client().call('GET', '/api/releases')) as Release[]).map(({ version }) => version);
    assert.deepEqual(await versions(), []);
    put('later/0.1.0/underpass-0.1.0-linux-x64', 'binary');
    put('later/0.2.0.new/underpass-0.2.0-linux-x64', 'half');
    assert.deepEqual(await versions(), ['0.1.0'], 'a release that is not complete yet is not offered');
    assert.equal((await early.client().send('GET', '/releases/0.1.0/underpass-0.1.0-linux-x64')).status, 200);
    await early.close();
  });

  it('are an empty list without a folder', async () => {
    const bare = await createTestControl();
    assert.deepEqual(await bare.client().call('GET', '/api/releases'), []);
    assert.equal((await bare.client().send('GET', '/install.sh')).status, 404);
    assert.equal((await bare.client().send('GET', '/')).status, 404);
    await bare.close();
  });
});

describe('health', () => {
  it('is alive at once, and ready from the end of its start until it is to stop', async () => {
    const other = await createTestControl();
    const status = async (path: string) => (await other.client().send('GET', path)).status;
    assert.deepEqual([await status('/healthz'), await status('/readyz')], [200, 503]);
    other.control.start();
    assert.deepEqual([await status('/healthz'), await status('/readyz')], [200, 200]);
    other.control.beginStop();
    assert.deepEqual([await status('/healthz'), await status('/readyz')], [200, 503]);
    await other.close();
  });

  it('is not ready without its database', async () => {
    const other = await createTestControl();
    other.control.start();
    await other.control.settle();
    await other.store.close();
    assert.equal((await other.client().send('GET', '/readyz')).status, 503);
    await other.control.close();
  });

  it('is not ready while its database takes no writes, and answers reads of idle sessions and unused tokens', async () => {
    const other = await createTestControl();
    const ann = await other.signUp('ann@example.com');
    const tokens = `/api/tokens?project=${ann.projectId}`;
    const { token } = await ann.call<{ token: string }>('POST', tokens, { name: 'ci', role: 'viewer', expiresInDays: 9 });
    other.time.now += 10 * 60_000;
    other.control.start();
    await other.control.settle();
    // Every write fails with SQLITE_READONLY.
    await sql`pragma query_only = on`.execute(other.store.db);
    assert.equal((await ann.send('GET', '/api/user')).status, 200);
    const program = other.client(token);
    assert.equal((await program.send('GET', `/api/tunnels?project=${ann.projectId}`)).status, 200);
    assert.equal((await program.send('GET', '/readyz')).status, 503);
    await other.close();
  });

  it('counts calls for Prometheus by name and status, never by path', async () => {
    await get('/api/user');
    const text = await test.control.metrics.metrics();
    assert.match(text, /underpass_calls_total\{call="getUser",status="401"\} \d+/);
    assert.match(text, /underpass_jobs_waiting 0/);
    assert.doesNotMatch(text, /magiclink/);
  });
});

describe('every answer', () => {
  for (const path of ['/', '/api/user', '/no.js', '/healthz', '/openapi.json']) {
    it(`${path} has the security headers and an id`, async () => {
      const { headers } = await get(path);
      const policy = headers.get('content-security-policy') ?? '';
      assert.match(policy, /default-src 'none'/);
      assert.match(policy, /frame-ancestors 'none'/);
      assert.doesNotMatch(policy, /unsafe|https?:|\*/);
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.equal(headers.get('referrer-policy'), 'no-referrer');
      assert.match(headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
      assert.equal(headers.get('access-control-allow-origin'), null);
    });
  }

  it('is never stored, but for files that everybody may have', async () => {
    const kept = { id: '1', at: '2026-11-20T10:00:00.000Z', to: 'ann@example.com', subject: 'Log in', text: 'secret' };
    const own = await createTestControl({ mailbox: { list: async () => [kept] } });
    const ann = await own.signUp('ann@example.com', { operator: true });
    for (const [method, path, status] of [
      ['GET', '/dev/mailbox', 200],
      ['GET', '/api/user', 200],
      ['GET', '/api/meta', 200],
      ['GET', `/api/audit/export?project=${ann.projectId}`, 200],
      ['GET', '/api/tunnels/none?project=none', 404],
      ['PUT', '/api/user', 405],
      ['OPTIONS', '/api/user', 204],
      ['GET', '/api/none', 404],
      ['GET', '/none', 404],
    ] as const) {
      const response = await ann.send(method, path);
      await response.body?.cancel();
      assert.deepEqual([response.status, response.headers.get('cache-control')], [status, 'no-store'], path);
    }
    await own.close();
  });

  it('on https has HSTS', async () => {
    const secure = await createTestControl({ settings: { origin: 'https://underpass.example' } });
    const response = await secure.client().send('GET', '/healthz');
    assert.match(response.headers.get('strict-transport-security') ?? '', /max-age=63072000/);
    await secure.close();
  });

  it('to a defect is 500 with the id of the log line, and nothing more', async () => {
    const broken = await createTestControl();
    const ann = await broken.signUp('ann@example.com');
    broken.feed.isServing = () => {
      throw new Error('secret detail at /home/underpass');
    };
    await ann.send('POST', `/api/tunnels?project=${ann.projectId}`, { name: 'x', region: 'local' });
    const response = await ann.send('GET', `/api/tunnels?project=${ann.projectId}`);
    const id = response.headers.get('x-request-id')!;
    assert.deepEqual([response.status, await response.text()], [500, `Something went wrong. Please try again. (${id})`]);
    assert.ok(broken.logged.some((line) => line.includes(id) && line.includes('secret detail')));
    await broken.close();
  });

  for (const path of [
    '/',
    '/login',
    '/releases/0.9.0/SHA256SUMS',
    '/install.sh',
    '/assets/main-Bq3xK9_a.js',
    '/healthz',
    '/ca.pem',
    '/openapi.json',
  ]) {
    it(`${path} is read-only: 405 names the allowed methods`, async () => {
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
        const response = await get(path, {}, method);
        assert.deepEqual([response.status, response.headers.get('allow')], [405, 'GET, HEAD, OPTIONS'], method);
      }
      assert.equal((await get(path, {}, 'HEAD')).status, 200);
    });
  }

  it('to an unknown call is a plain 404, whatever the method', async () => {
    for (const [method, path] of [
      ['GET', '/api/nothing'],
      ['POST', '/api/nothing'],
      ['DELETE', '/auth/nothing'],
      ['GET', '/api/'],
    ] as const) {
      const response = await get(path, {}, method);
      assert.deepEqual([response.status, await response.text()], [404, 'Page not found'], `${method} ${path}`);
    }
  });
});

describe('security.txt', () => {
  it('names a contact and an expiry (RFC 9116)', async () => {
    const text = await (await get('/.well-known/security.txt')).text();
    assert.match(text, /^Contact: mailto:security@example\.com$/m);
    assert.match(text, /^Contact: http:\/\/localhost:8400\/abuse$/m);
    const expires = Date.parse(/^Expires: (.+)$/m.exec(text)?.[1] ?? '');
    assert.ok(expires > test.time.now && expires < test.time.now + 366 * 24 * 3600_000);
  });
});
