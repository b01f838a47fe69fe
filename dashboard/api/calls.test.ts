// Every call that the dashboard makes is a row of rules/calls.ts: its method, its path, its query and the fields of its payload.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { type Call, calls, type Payload } from '@underpass/rules/calls.ts';

const modules = [
  'account',
  'audit',
  'domains',
  'operator',
  'projects',
  'public',
  'security-groups',
  'session',
  'tokens',
  'tunnels',
];

/** Where the position does not say what a call takes. */
const arguments_: Readonly<Record<string, readonly unknown[]>> = {
  createTunnel: ['p', { name: 'n', region: 'r', ingressDomains: [], proxyProtocol: '', type: 'http' }],
  updateTunnel: ['p', { name: 'n' }, { ingressDomains: [], proxyProtocol: '', securityGroup: 'default' }],
  createSecurityGroup: ['p', 'n', ['0.0.0.0/0']],
  updateSecurityGroup: ['p', 'n', { allowList: ['0.0.0.0/0'] }],
  requestMagicLink: [formOf('email', 'bot-check')],
  register: [formOf('first-name', 'last-name', 'email', 'company', 'github-link', 'twitter-link', 'accept-terms', 'bot-check')],
  reportAbuse: [{ host: 'h', email: 'e', text: 't', botCheck: 'b' }],
  decideDevice: ['CODE', { approve: true, project: 'p', role: 'viewer' }],
  createApiToken: ['p', { name: 'n', role: 'viewer', expiresInDays: 30 }],
  changeUser: ['id', { suspended: true }],
  changeProject: ['id', { suspended: true }],
  changeTunnel: ['id', true],
  createRegion: [{ name: 'r', description: 'd', dataPlaneHost: 'h', tlsTermination: true, httpsPort: 443, httpPort: 80 }],
  changeRegion: ['r', { available: true }],
  listAudit: ['p', { action: 'a' }, 'b'],
  listServiceAudit: [{ action: 'session', from: '2026-01-01T00:00:00Z' }, '9'],
  listRegistrations: ['waiting'],
  listAbuseReports: ['open'],
};

type Callable = (...args: unknown[]) => unknown;

/** A call that reads takes a signal behind its names. */
function namesFor(call: Callable): readonly string[] {
  const reads = /^(list|get|lookUp|checkInvitation)/.test(call.name);
  return Array.from({ length: call.length - (reads ? 1 : 0) }, (_, index) => `name${index}`);
}

function formOf(...names: string[]): FormData {
  const form = new FormData();
  for (const name of names) form.set(name, 'x');
  return form;
}

const realFetch = globalThis.fetch;
let sent: { url: URL; init: RequestInit } | undefined;
beforeEach(() => {
  globalThis.fetch = async (url, init) => {
    sent = { url: new URL(String(url), 'https://dashboard.example'), init: init! };
    return Response.json([]);
  };
});
afterEach(() => {
  globalThis.fetch = realFetch;
});

for (const name of modules) {
  const functions = Object.entries((await import(`./${name}.ts`)) as Record<string, unknown>).filter(
    ([, value]) => typeof value === 'function',
  );
  for (const [callName, value] of functions) {
    test(`${name}: ${callName} is a call of the table`, async () => {
      sent = undefined;
      const answer = (value as Callable)(...(arguments_[callName] ?? namesFor(value as Callable)));
      // A function that only spells a URL is checked as a GET of it.
      if (typeof answer === 'string') sent = { url: new URL(answer, 'https://dashboard.example'), init: { method: 'GET' } };
      else await answer;
      assert.ok(sent, 'nothing was sent');
      assertIsCall(sent);
    });
  }
}

function assertIsCall({ url, init }: { url: URL; init: RequestInit }): void {
  const call = Object.values<Call>(calls).find(({ method, path }) => method === init.method && matches(path, url.pathname));
  assert.ok(call, `${init.method} ${url.pathname} is not in the table`);
  const known = call.query.map((parameter) => parameter.replace('?', ''));
  for (const parameter of url.searchParams.keys())
    assert.ok(known.includes(parameter), `${parameter} is no parameter of ${call.path}`);
  for (const parameter of call.query)
    if (!parameter.endsWith('?')) assert.ok(url.searchParams.has(parameter), `${parameter} is missing`);
  assertPayload(call, init.body);
}

function matches(path: string, pathname: string): boolean {
  return new RegExp(`^${path.replace(/:[A-Za-z]+/g, '[^/]+')}$`).test(pathname);
}

function assertPayload({ payload, path }: Call, body: unknown): void {
  if (payload === null) assert.equal(body, undefined, `${path} takes no body`);
  else if (payload === 'text/csv') assert.equal(typeof body, 'string');
  else assertFields(payload, path, body);
}

function assertFields(payload: Payload, path: string, body: unknown): void {
  const fields = Object.keys(payload.fields);
  const sentFields =
    body instanceof FormData || body instanceof URLSearchParams ? [...body.keys()] : Object.keys(JSON.parse(String(body)));
  for (const field of sentFields) assert.ok(fields.includes(field), `${field} is no field of ${path}`);
  const required = fields.filter((field) => !payload.fields[field]?.endsWith('?'));
  for (const field of required) assert.ok(sentFields.includes(field), `${field} of ${path} is missing`);
  const expected = { json: String, form: URLSearchParams, multipart: FormData }[payload.kind];
  assert.ok(expected === String ? typeof body === 'string' : body instanceof expected, `${path} takes ${payload.kind}`);
}
