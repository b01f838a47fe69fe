// Request smuggling through the whole product: ambiguous requests never reach the upstream, a Node HTTP server.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { watchFootprints } from '../helpers/footprint.ts';
import { startClientProcess, startServerProcess } from '../helpers/process.ts';
import { type Door, say, visit } from '../helpers/visitor.ts';

/** Each hides a request for /hidden behind or inside another. HOST stands for the tunnel's name. */
const shapes: Record<string, string> = {
  'Content-Length beside Transfer-Encoding':
    'POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: HOST\r\n\r\n',
  'two lengths':
    'POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\nContent-Length: 36\r\n\r\nGET /hidden HTTP/1.1\r\nHost: HOST\r\n\r\n',
  'a length with a sign': 'POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: +0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: HOST\r\n\r\n',
  'a list of lengths': 'POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0, 36\r\n\r\nGET /hidden HTTP/1.1\r\nHost: HOST\r\n\r\n',
  'chunked behind a tab':
    'POST / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding:\tchunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: HOST\r\n\r\n',
  'an unknown coding':
    'POST / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: HOST\r\n\r\n',
  'a space before the colon':
    'POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length : 36\r\n\r\nGET /hidden HTTP/1.1\r\nHost: HOST\r\n\r\n',
  'a folded line':
    'POST / HTTP/1.1\r\nHost: HOST\r\nX: a\r\n Transfer-Encoding: chunked\r\n\r\nGET /hidden HTTP/1.1\r\nHost: HOST\r\n\r\n',
  'a bare line feed': 'GET / HTTP/1.1\nHost: HOST\n\nGET /hidden HTTP/1.1\r\nHost: HOST\r\n\r\n',
  'a bare carriage return': 'GET / HTTP/1.1\r\nHost: HOST\r\nX: a\rGET /hidden HTTP/1.1\r\n\r\n',
  'a NUL in a field': 'GET / HTTP/1.1\r\nHost: HOST\r\nX: a\0b\r\n\r\nGET /hidden HTTP/1.1\r\nHost: HOST\r\n\r\n',
  'a chunk size that overflows':
    'POST / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff1\r\n\r\nGET /hidden HTTP/1.1\r\nHost: HOST\r\n\r\n',
  'two hosts': 'GET / HTTP/1.1\r\nHost: HOST\r\nHost: hidden.example\r\n\r\n',
  'no host': 'GET / HTTP/1.1\r\n\r\n',
  'another authority in the target': 'GET http://hidden.example/hidden HTTP/1.1\r\nHost: HOST\r\n\r\n',
  'userinfo in the host': 'GET / HTTP/1.1\r\nHost: hidden@HOST\r\n\r\n',
  CONNECT: 'CONNECT hidden.example:443 HTTP/1.1\r\nHost: HOST\r\n\r\n',
  TRACE: 'TRACE / HTTP/1.1\r\nHost: HOST\r\n\r\n',
};

interface Seen {
  readonly requests: string[];
  readonly fields: NodeJS.Dict<string | string[]>[];
  readonly url: string;
}

async function startUpstream(t: TestContext): Promise<Seen> {
  const requests: string[] = [];
  const fields: NodeJS.Dict<string | string[]>[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    fields.push(request.headers);
    request.on('error', () => {}).resume();
    response.end('served');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { requests, fields, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

test('the edge refuses every ambiguous request', async (t) => {
  const product = await startServerProcess(t);
  const door: Door = { port: product.ports.https, host: new URL(product.tunnel.publicUrl).hostname, caPem: product.caPem };
  const seen = await startUpstream(t);
  const client = await startClientProcess(t, product, seen.url);
  assert.equal((await visit(door, '/plain')).status, 200);
  const comesBack = await watchFootprints(t, { server: product.server, client });

  for (const [name, text] of Object.entries(shapes)) {
    await t.test(`${name} is refused`, async () => {
      seen.requests.length = 0;
      const answer = await say(door, text.replaceAll('HOST', door.host));
      assert.match(answer, /^HTTP\/1\.1 4\d\d /);
      assert.equal([...answer.matchAll(/HTTP\/1\.1 \d{3}/g)].length, 1, 'one answer, then the connection ends');
      assert.deepEqual(
        seen.requests.filter((request) => request.includes('hidden')),
        [],
      );
      assert.doesNotMatch(answer, /\/hidden/, 'the answer does not echo the request');
    });
  }

  await t.test('forwarding fields of a visitor never reach the upstream', async () => {
    seen.fields.length = 0;
    const spoofed = ['X-Forwarded-For', 'X-Real-IP', 'Forwarded', 'X-Forwarded-Host', 'X_Forwarded_For', 'True-Client-IP'].map(
      (field) => `${field}: 203.0.113.9`,
    );
    const head = [
      'GET / HTTP/1.1',
      `Host: ${door.host}`,
      ...spoofed,
      'Connection: close, X-Forwarded-For, X-Real-IP',
      '',
      '',
    ].join('\r\n');
    await say(door, head);
    const [fields = {}] = seen.fields;
    assert.doesNotMatch(JSON.stringify(fields), /203\.0\.113\.9/);
    assert.equal(fields['x-forwarded-for'], '127.0.0.1');
    assert.equal(fields['x-real-ip'], '127.0.0.1');
    assert.equal(fields['x-forwarded-proto'], 'https');
  });
  await comesBack();
});
