// A known path answers every method: the calls of the table, HEAD as GET without content, OPTIONS with what there is.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type CallName, calls } from '@underpass/rules/api/calls.ts';
import { createTestControl, type TestControl, testOrigin } from '../test-kit.ts';

let test: TestControl;

before(async () => {
  test = await createTestControl();
});
after(() => test.close());

const send = (method: string, path: string): Promise<Response> =>
  test.control.fetch(new Request(testOrigin + path, { method }), { remoteAddress: '192.0.2.1' });

const every = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'] as const;

/** A literal segment may also be a name: `/api/invitations/check` has the DELETE of `/api/invitations/:id`. */
function covers(pattern: string, path: string): boolean {
  const [named, given] = [pattern.split('/'), path.split('/')];
  return named.length === given.length && named.every((segment, at) => segment.startsWith(':') || segment === given[at]);
}

const rows = Object.values(calls);
const paths = new Map(
  rows.map(({ path }) => {
    const methods = rows.filter((row) => covers(row.path, path)).map(({ method }) => method);
    return [path, new Set<string>(methods.includes('GET') ? [...methods, 'HEAD'] : methods)];
  }),
);

const allowed = (response: Response): string[] => (response.headers.get('allow') ?? '').split(', ').sort();

describe('a path beside one of the table', () => {
  const spellings = (path: string): string[] => [
    `${path}/`,
    `${path}2`,
    `${path};x`,
    `${path}%2f`,
    `${path}%00`,
    `${path}/.`,
    path.toUpperCase(),
    `/${path}`,
    path.replace('/api/', '/api//'),
    path.replace('/operator/', '/operator2/'),
    path.replace('/operator/', '/%6fperator/'),
    path.replace('/operator/', '/x/../operator/'),
    path.replace('/operator/', '/x/%2e%2e/operator/'),
    path.replace('/operator/', '/operator%2f'),
    path.replace('/operator/', '/operator/./'),
  ];

  it('opens no call of operators to a person who is none', async () => {
    const ann = await test.signUp('ann@example.com');
    const operators = rows.filter(({ who }) => who === 'operator').map(({ path }) => path.replace(/:\w+/g, '00'));
    for (const path of operators.flatMap(spellings)) {
      for (const method of ['GET', 'POST'] as const) {
        const response = await ann.send(method, path);
        const text = await response.text();
        // Other paths are pages of the dashboard, which are the same for everybody.
        assert.ok(response.status >= 400 || /^<!doctype html>/i.test(text), `${method} ${path}: ${response.status} ${text}`);
      }
    }
  });
});

describe('a path of the table', () => {
  for (const [path, methods] of paths) {
    const url = path.replace(/:\w+/g, 'abc.example');
    const expected = [...methods, 'OPTIONS'].sort();

    it(`${path} answers OPTIONS with its methods`, async () => {
      const response = await send('OPTIONS', url);
      assert.deepEqual([response.status, await response.text(), allowed(response)], [204, '', expected]);
      assert.equal(response.headers.get('access-control-allow-origin'), null);
    });

    for (const method of every.filter((each) => !methods.has(each) && each !== 'OPTIONS')) {
      it(`${path} refuses ${method} with 405 and its methods`, async () => {
        const response = await send(method, url);
        const text = method === 'HEAD' ? '' : 'Method not allowed';
        assert.deepEqual([response.status, await response.text(), allowed(response)], [405, text, expected]);
      });
    }

    for (const method of methods) {
      it(`${path} does not refuse ${method} as a method`, async () => {
        const response = await send(method, url);
        await response.body?.cancel();
        assert.notEqual(response.status, 405);
      });
    }
  }
});

describe('other paths', () => {
  for (const path of ['/api', '/api/nothing', '/api/tunnels/a/b/c', '/auth/nothing', '/api/tunnels/']) {
    for (const method of every) {
      it(`${method} ${path} is not found`, async () => assert.equal((await send(method, path)).status, 404));
    }
  }

  for (const [path, methods] of [
    ['/openapi.json', ['GET', 'HEAD', 'OPTIONS']],
    ['/healthz', ['GET', 'HEAD', 'OPTIONS']],
    ['/login', ['GET', 'HEAD', 'OPTIONS']],
    ['/hooks/subscriptions', ['OPTIONS', 'POST']],
  ] as const) {
    it(`${path} refuses PUT, and names its methods`, async () => {
      const response = await send('PUT', path);
      assert.deepEqual([response.status, allowed(response)], [405, methods]);
      assert.equal((await send('OPTIONS', path)).status, 204);
    });
  }

  it('the webhook refuses GET', async () => assert.equal((await send('GET', '/hooks/subscriptions')).status, 405));
});

it('HEAD of every call that reads has the status of GET', async () => {
  for (const name of Object.keys(calls) as CallName[]) {
    const { method, path } = calls[name];
    if (method !== 'GET') continue;
    const url = path.replace(/:\w+/g, 'abc.example');
    const [read, head] = [await send('GET', url), await send('HEAD', url)];
    assert.deepEqual([head.status, await head.text()], [read.status, ''], name);
    await read.body?.cancel();
  }
});
