// What is forgotten with a session.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { answers } from '../api/answers.ts';
import { forgetAll } from '../api/forget.ts';
import { forgetSession, loadSession } from './session.ts';

const realFetch = globalThis.fetch;
let email = '';
let calls = 0;

beforeEach(() => {
  calls = 0;
  globalThis.fetch = async (url) => {
    calls++;
    return Response.json(String(url).includes('projects') ? [] : { email });
  };
});
afterEach(() => {
  globalThis.fetch = realFetch;
  forgetAll();
});

const ask = { key: 'clients', fetch: async () => 'of ann' };

async function keepAnAnswer(): Promise<void> {
  const leave = answers.follow(ask, () => {});
  await new Promise((resolve) => setImmediate(resolve));
  leave();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(answers.read(ask.key).data, 'of ann');
}

test('a log-out forgets the user and every answer', async () => {
  email = 'ann@example.com';
  await loadSession();
  await loadSession();
  assert.equal(calls, 2);
  await keepAnAnswer();
  forgetAll();
  assert.equal(answers.read(ask.key).data, undefined);
  await loadSession();
  assert.equal(calls, 4);
});

test('the session that the page brings holds once', async () => {
  const served = { textContent: JSON.stringify({ user: { email: 'served@example.com' }, projects: [] }), remove: () => {} };
  const document = { getElementById: (): unknown => served, querySelector: () => null };
  served.remove = () => {
    document.getElementById = () => null;
  };
  Object.assign(globalThis, { document });
  try {
    email = 'ann@example.com';
    assert.deepEqual([(await loadSession())?.user.email, calls], ['served@example.com', 0]);
    forgetSession();
    assert.deepEqual([(await loadSession())?.user.email, calls], [email, 2]);
  } finally {
    Reflect.deleteProperty(globalThis, 'document');
  }
});

test('another user finds no answer of the one before; the same user does, after a change of the projects', async () => {
  email = 'ann@example.com';
  await loadSession();
  await keepAnAnswer();
  forgetSession();
  await loadSession();
  assert.equal(answers.read(ask.key).data, 'of ann');
  email = 'bob@example.com';
  forgetSession();
  assert.equal((await loadSession())?.user.email, email);
  assert.equal(answers.read(ask.key).data, undefined);
});

/** Modules that keep something for as long as the page lives, which is no person's data. */
const impersonal: Readonly<Record<string, string>> = {
  'api/first-data.ts': 'whether the first page has shown',
  'api/request.ts': 'the dialog of the open page',
  'bot-check/turnstile.ts': 'code of the provider',
  'live/live-link.ts': 'ends with the page of the project',
  'ui/code/highlight.ts': 'code',
  'ui/overlay/menu.tsx': 'whether the code of menus has loaded',
  'ui/overlay/toast.tsx': 'toasts until their code has loaded',
};

test('every module that keeps something says how it forgets', () => {
  const root = join(import.meta.dirname, '..');
  const files = globSync('{api,bot-check,form,list,live,pages,passkey,routing,session,shell,ui}/**/*.{ts,tsx}', { cwd: root });
  const keepers = files.filter((file) => {
    const source = readFileSync(join(root, file), 'utf8');
    return (
      !file.includes('.test.') &&
      /^(export )?(let \w|const \w+ = new (Map|Set)<[^(]*\(\))/m.test(source) &&
      !source.includes('onForget(')
    );
  });
  assert.deepEqual(keepers.sort(), Object.keys(impersonal));
});
