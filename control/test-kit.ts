// A control in memory for tests, with fakes for everything outside it, and browsers and programs that call it with `fetch`.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Role, TunnelMetrics } from '@underpass/rules/entity/entity.ts';
import type { ConnectedClient, EdgeHealth } from '@underpass/rules/entity/resource.ts';
import type { DnsProviderName } from '@underpass/rules/names/dns-provider.ts';
import type { PortProblem } from '@underpass/rules/tunnel/port-range.ts';
import { pino } from 'pino';
import { type Control, createControl } from './control.ts';
import type { ControlDeps, ControlSettings } from './deps.ts';
import type { ChallengeAnswer } from './edges/dns/core/challenge.ts';
import type { DnsPort } from './edges/dns/port.ts';
import { createSharedAnswers } from './edges/dns/shared-answers.ts';
import type { FeedPort } from './edges/feed/port.ts';
import type { BotCheck } from './people/auth/bot-check.ts';
import { insertMember } from './people/project/projects.ts';
import { insertUser } from './people/registration/registrations.ts';
import type { Bus } from './platform/bus/bus.ts';
import { createMemoryBus } from './platform/bus/memory.ts';
import type { KeptMail, Mail } from './platform/mail/mail.ts';
import { createKeyRing, type KeyRing } from './platform/secret/key-ring.ts';
import { openSqliteStore } from './platform/store/sqlite.ts';
import type { Store } from './platform/store/store.ts';

export const testOrigin = 'http://localhost:8400';
export const rightAnswer = 'a-right-answer';

export interface FakeFeed extends FeedPort {
  readonly changed: string[];
  readonly serving: Set<string>;
  readonly connected: Map<string, ConnectedClient[]>;
  readonly rates: Map<string, TunnelMetrics>;
  readonly portProblems: Map<string, PortProblem>;
  readonly knownEdges: EdgeHealth[];
  move(ids: readonly string[]): void;
}

export function createFakeFeed(): FakeFeed {
  const listeners = new Set<(ids: readonly string[]) => void>();
  const changed: string[] = [];
  const serving = new Set<string>();
  const connected = new Map<string, ConnectedClient[]>();
  const rates = new Map<string, TunnelMetrics>();
  const portProblems = new Map<string, PortProblem>();
  const knownEdges: EdgeHealth[] = [];
  return {
    changed,
    serving,
    connected,
    rates,
    portProblems,
    knownEdges,
    move: (ids) => {
      for (const listener of listeners) listener(ids);
    },
    tunnelsChanged: (ids) => void changed.push(...ids),
    blocksChanged: (values) => void changed.push(...values),
    regionChanged: () => {},
    isServing: (id) => serving.has(id),
    delivered: async () => {},
    clients: (id) => connected.get(id) ?? [],
    clientCount: (id) => connected.get(id)?.length ?? 0,
    lastClient: () => ({ seen: null, error: null }),
    portProblem: (id) => portProblems.get(id),
    metrics: (id) => rates.get(id),
    history: async () => ({ stepSeconds: 60, points: [], whole: { answers: null, firstByte: null } }),
    traces: async () => new Map(),
    edges: () => knownEdges,
    onMoved: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export interface FakeDns extends DnsPort {
  /** The answer of the next checks for each apex; `missing` if there is none here. */
  readonly proofs: Map<string, ChallengeAnswer>;
  readonly addresses: Map<string, readonly string[] | 'unknown'>;
  /** The provider by zone; `other` if there is none here. */
  readonly providerOf: Map<string, DnsProviderName>;
  readonly looked: string[];
}

function createFakeDns(clock: () => number): FakeDns {
  const proofs = new Map<string, ChallengeAnswer>();
  const addresses: FakeDns['addresses'] = new Map();
  const providerOf = new Map<string, DnsProviderName>();
  const looked: string[] = [];
  const options = { keptMs: 10_000, most: 100, clock };
  const dns: FakeDns = {
    proofs,
    addresses,
    providerOf,
    looked,
    checkChallenge: async (apexName) => proofs.get(apexName) ?? 'missing',
    lookup: async (host) => {
      looked.push(host);
      return addresses.get(host) ?? [];
    },
    alias: async () => undefined,
    hosts: createSharedAnswers((host) => dns.lookup(host), options),
    providers: createSharedAnswers(async (zone) => providerOf.get(zone) ?? 'other', options),
  };
  return dns;
}

/** Every answer that begins with `a-right-answer` is right. */
const easyBotCheck: BotCheck = {
  describe: () => ({ kind: 'altcha', challengeUrl: '/api/bot-check/challenge' }),
  createChallenge: async () => ({ parameters: {}, signature: '' }),
  verify: async (answer) => answer.startsWith(rightAnswer),
};

type SentBody = object | URLSearchParams | FormData | string;

function bodyOf(body: SentBody | undefined): { body?: NonNullable<RequestInit['body']>; headers: Record<string, string> } {
  if (body === undefined) return { headers: {} };
  if (body instanceof URLSearchParams || body instanceof FormData) return { body, headers: {} };
  if (typeof body === 'string') return { body, headers: { 'content-type': 'text/csv' } };
  return { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
}

/** A browser with a cookie jar, or a program with a bearer token. */
export interface TestClient {
  readonly cookies: Map<string, string>;
  send(method: string, path: string, body?: SentBody, headers?: Record<string, string>): Promise<Response>;
  /** Returns the JSON. Fails the test unless the status is 2xx. */
  call<T = unknown>(method: string, path: string, body?: SentBody): Promise<T>;
}

function keepCookies(jar: Map<string, string>, response: Response): void {
  for (const line of response.headers.getSetCookie()) {
    const [pair = ''] = line.split(';');
    const [name = '', value = ''] = pair.split('=');
    if (/max-age=0(;|$)/i.test(line)) jar.delete(name);
    else jar.set(name, value);
  }
}

async function readAnswer(response: Response, what: string): Promise<unknown> {
  const text = await response.text();
  assert.ok(response.ok, `${what}: ${response.status} ${text}`);
  return response.headers.get('content-type')?.startsWith('application/json') ? JSON.parse(text) : text;
}

function createTestClient(control: Control, token?: string, address = '192.0.2.1'): TestClient {
  const cookies = new Map<string, string>();
  const identity = (): Record<string, string> => {
    if (token !== undefined) return { authorization: `Bearer ${token}` };
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    return {
      'sec-fetch-site': 'same-origin',
      'sec-fetch-mode': 'cors',
      origin: testOrigin,
      ...(cookie === '' ? {} : { cookie }),
    };
  };
  const send: TestClient['send'] = async (method, path, body, headers = {}) => {
    const { body: sent, headers: typed } = bodyOf(body);
    const init = { method, headers: { ...identity(), ...typed, ...headers }, ...(sent === undefined ? {} : { body: sent }) };
    const response = await control.fetch(new Request(testOrigin + path, init), { remoteAddress: address });
    keepCookies(cookies, response);
    return response;
  };
  return {
    cookies,
    send,
    call: async <T>(method: string, path: string, body?: SentBody) =>
      (await readAnswer(await send(method, path, body), `${method} ${path}`)) as T,
  };
}

export interface TestControl {
  readonly control: Control;
  readonly store: Store;
  readonly mails: Mail[];
  readonly bus: Bus;
  readonly feed: FakeFeed;
  readonly dns: FakeDns;
  /** Milliseconds; tests move it. */
  readonly time: { now: number };
  /** Everything that was logged, as JSON lines. */
  readonly logged: string[];
  client(token?: string, address?: string): TestClient;
  /** Makes a user with a project, signed in by a link. */
  signUp(email: string, options?: { operator?: boolean }): Promise<SignedUp>;
  addMember(projectId: string, userId: string, role: Role): Promise<void>;
  /** Renews the proof of who the person is: for tests that move the time. */
  makeFresh(who: SignedUp): Promise<void>;
  close(): Promise<void>;
}

export interface SignedUp extends TestClient {
  readonly email: string;
  readonly userId: string;
  readonly projectId: string;
}

export interface TestControlOptions {
  readonly store?: Store;
  readonly settings?: Partial<ControlSettings>;
  readonly keyRing?: KeyRing;
  readonly botCheck?: BotCheck;
  readonly sendMail?: (mail: Mail) => Promise<void>;
  /** Applies the real rate limits; otherwise there are none. */
  readonly limited?: boolean;
  readonly mailbox?: { list(): Promise<readonly KeptMail[]> };
  readonly readStatus?: ControlDeps['readStatus'];
}

const baseSettings: ControlSettings = {
  origin: testOrigin,
  production: false,
  version: '0.1.0',
  operatorEmail: 'operator@example.com',
  securityContact: 'mailto:security@example.com',
  trustedProxies: [],
  providerNetworks: [],
  webhookNetworks: [],
  quickTunnels: 100,
  chosenNames: false,
  invitationsApprove: false,
  operatorIdentity: { name: 'Underpass Ltd', email: 'hello@example.com' },
};

const localRegion = {
  name: 'local',
  description: 'This machine',
  dataPlaneHost: 'local.localhost',
  tlsTermination: true,
  wildcardIngressDomain: 'tunnels.localhost',
  httpsPort: 8443,
  httpPort: 8480,
};

const listLog = (logged: string[]) => pino({ level: 'info' }, { write: (line: string) => void logged.push(line) });

/** The URL in the newest mail to this address. */
export function linkIn(mails: readonly Mail[], email: string): URL {
  const mail = mails.findLast((each) => each.to === email);
  const match = /https?:\/\/\S+/.exec(mail?.text ?? '');
  assert.ok(match, `no link was mailed to ${email}`);
  return new URL(match[0]);
}

export const linkToken = (mails: readonly Mail[], email: string): string => linkIn(mails, email).pathname.split('/').at(-1)!;

export function loginForm(email: string, answer = rightAnswer): FormData {
  const form = new FormData();
  form.set('email', email);
  form.set('bot-check', answer);
  return form;
}

/** Makes a control with the region `local`. Close it, and the store that you passed. */
export async function createTestControl(options: TestControlOptions = {}): Promise<TestControl> {
  const store = options.store ?? (await openSqliteStore(':memory:'));
  const mails: Mail[] = [];
  const logged: string[] = [];
  const feed = createFakeFeed();
  const bus = createMemoryBus((error) => assert.fail(String(error)));
  const time = { now: Date.UTC(2026, 10, 20, 10) };
  const dns = createFakeDns(() => time.now);
  const control = createControl({
    settings: { ...baseSettings, ...options.settings },
    store,
    bus,
    keyRing: options.keyRing ?? createKeyRing([randomBytes(32)]),
    clock: () => time.now,
    log: listLog(logged),
    sendMail: options.sendMail ?? (async (mail) => void mails.push(mail)),
    ...(options.mailbox === undefined ? {} : { mailbox: options.mailbox }),
    ...(options.readStatus === undefined ? {} : { readStatus: options.readStatus }),
    feed,
    dns,
    certificates: {
      clientPin: () => 'ab'.repeat(32),
      ofNames: async (names) => new Map(names.map((name) => [name, { until: undefined, lastOrderFailed: false }])),
    },
    botCheck: options.botCheck ?? easyBotCheck,
    ...(options.limited ? {} : { limiter: { take: async () => {}, giveBack: async () => {} } }),
  });
  await control.operator.ensureRegion(localRegion);

  const signUp: TestControl['signUp'] = async (email, { operator = false } = {}) => {
    const user = { email, firstName: 'Ann', lastName: 'Lee', operator, projectName: 'default' };
    const userId = await store.write((trx) => insertUser(trx, user, time.now));
    const { default_project: projectId } = await store.db
      .selectFrom('users')
      .select('default_project')
      .where('id', '=', userId)
      .executeTakeFirstOrThrow();
    const client = createTestClient(control);
    const url = new URL(await control.operator.createLoginLink(email));
    await client.call('POST', '/auth/login', new URLSearchParams({ token: url.pathname.split('/').at(-1)! }));
    return { ...client, email, userId, projectId: projectId! };
  };

  return {
    control,
    store,
    mails,
    feed,
    bus,
    dns,
    time,
    logged,
    client: (token, address) => createTestClient(control, token, address),
    signUp,
    makeFresh: async ({ userId }) => {
      await store.db.updateTable('sessions').set({ proven_at: time.now }).where('user_id', '=', userId).execute();
    },
    addMember: (projectId, userId, role) => insertMember(store.db, { projectId, userId, role }, time.now),
    close: async () => {
      await control.close();
      if (!options.store) await store.close();
    },
  };
}
