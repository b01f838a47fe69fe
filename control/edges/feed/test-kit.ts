// Neighbours for tests of the feed and its users: rows of one project, an edge that keeps the messages it gets, and a bus.

import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { type Duplex, duplexPair } from 'node:stream';
import type { FeedState, FeedTunnelReport, FromEdge, ToEdge } from '@underpass/wire/feed/feed.ts';
import { feedVersion } from '@underpass/wire/feed/feed.ts';
import { createEdgeFeed } from '@underpass/wire/feed/feed-stream.ts';
import { pino } from 'pino';
import type { Bus } from '../../platform/bus/bus.ts';
import { createKeyRing, type KeyRing } from '../../platform/secret/key-ring.ts';
import { createId } from '../../platform/store/id.ts';
import { openSqliteStore } from '../../platform/store/sqlite.ts';
import type { Queries, Store } from '../../platform/store/store.ts';
import { applyChange, emptyIndex, type IndexedState, stateOf } from './core/state-diff.ts';

export const silentLog = pino({ level: 'silent' });
export const testKeyRing = (): KeyRing => createKeyRing([randomBytes(32)]);
export const openMemoryStore = (): Promise<Store> => openSqliteStore(':memory:');

/** Delivers in a microtask of the same turn, as the memory bus does. */
export function createTestBus(): Bus {
  const listeners = new Map<string, Set<(message: unknown) => void>>();
  return {
    publish: (subject, message) => {
      const copy: unknown = JSON.parse(JSON.stringify(message));
      queueMicrotask(() => {
        for (const listener of listeners.get(subject) ?? []) listener(copy);
      });
    },
    subscribe: (subject, listener) => {
      const known = listeners.get(subject) ?? new Set();
      listeners.set(subject, known.add(listener));
      return () => void known.delete(listener);
    },
    close: async () => {},
  };
}

export async function addRegion(
  db: Queries,
  name: string,
  over: { host?: string; wildcard?: string | null } = {},
): Promise<void> {
  await db
    .insertInto('regions')
    .values({
      name,
      description: name,
      available: 1,
      tls_termination: 1,
      wildcard_ingress_domain: over.wildcard === undefined ? 'tunnels.localhost' : over.wildcard,
      data_plane_host: over.host ?? `${name}.localhost`,
      https_port: 443,
      http_port: 80,
      created_at: 1,
    })
    .execute();
}

/** Adds a project with its owner and its default group; returns their ids. */
export async function addProject(db: Queries, name: string) {
  const userId = createId(1);
  const groupId = createId(1);
  const email = `${name}@example.com`;
  const user = {
    email,
    first_name: '',
    last_name: '',
    operator: 0,
    default_project: name,
    suspended_at: null,
    created_at: 1,
  } as const;
  await db
    .insertInto('users')
    .values({ id: userId, ...user })
    .execute();
  await db
    .insertInto('projects')
    .values({ id: name, name, limits: null, suspended_at: null, passkey_required: 0, revision: 0, created_at: 1 })
    .execute();
  await db.insertInto('members').values({ project_id: name, user_id: userId, role: 'owner', created_at: 1 }).execute();
  const group = { name: 'default', allow_list: '["0.0.0.0/0","::/0"]', created_at: 1, updated_at: 1 };
  await db
    .insertInto('security_groups')
    .values({ id: groupId, project_id: name, ...group })
    .execute();
  return { projectId: name, userId, groupId };
}

export interface TunnelSeed {
  readonly projectId: string;
  readonly groupId: string;
  readonly region: string;
  readonly name: string;
  readonly type?: 'http' | 'ingress';
  readonly hosts: readonly string[];
  readonly tokenHash?: string;
}

export async function addTunnel(db: Queries, seed: TunnelSeed): Promise<string> {
  const id = createId(Date.now());
  const { projectId, groupId, region, name, type = 'ingress', hosts, tokenHash = randomBytes(32).toString('hex') } = seed;
  const times = { created_at: 1, updated_at: 1, suspended_at: null };
  const tunnel = {
    id,
    project_id: projectId,
    name,
    type,
    region,
    proxy_protocol: '',
    security_group_id: groupId,
    access_policy_id: null,
    visitor_log: null,
    visitor_log_query: null,
    ...times,
  } as const;
  await db.insertInto('tunnels').values(tunnel).execute();
  await db
    .insertInto('tunnel_tokens')
    .values({ id: createId(1), tunnel_id: id, token_hash: tokenHash, token_sealed: '', created_at: 1, expires_at: null })
    .execute();
  for (const [position, host] of hosts.entries()) {
    const row = { tunnel_id: id, project_id: projectId, host, apex_name: '', live_host: host, position };
    await db.insertInto('tunnel_hosts').values(row).execute();
  }
  return id;
}

type Message<T extends ToEdge['type']> = Extract<ToEdge, { type: T }>;

/** An edge as the feed sees it: keeps its state, and acknowledges at once while `acknowledges` is true. */
export class TestEdge {
  readonly heard: ToEdge[] = [];
  readonly carrier: Duplex;
  acknowledges = true;
  answersPings = true;
  closed = false;
  epoch: string | undefined;
  seq: number | undefined;
  readonly #state: IndexedState = emptyIndex();
  readonly #events = new EventEmitter();
  readonly #stream;

  constructor(carrier: Duplex) {
    this.carrier = carrier;
    this.#stream = createEdgeFeed(carrier);
    this.#stream.onMessage = (message) => this.#take(message);
    this.#stream.onClose = () => {
      this.closed = true;
      this.#events.emit('change');
    };
  }

  get state(): FeedState {
    return stateOf(this.#state);
  }

  send(message: FromEdge): void {
    this.#stream.send(message);
  }

  hello(region: string, over: Partial<Extract<FromEdge, { type: 'hello' }>> = {}): void {
    this.send({ type: 'hello', version: feedVersion, edgeId: 'edge-1', region, software: 'test', ...over });
  }

  report(tunnels: readonly FeedTunnelReport[], atMs = Date.now()): void {
    this.send({ type: 'report', atMs, tunnels });
  }

  reportPart(tunnels: readonly FeedTunnelReport[]): void {
    this.send({ type: 'report', atMs: Date.now(), tunnels, partial: true });
  }

  messages<T extends ToEdge['type']>(type: T): Message<T>[] {
    return this.heard.filter((message): message is Message<T> => message.type === type);
  }

  /** Resolves as soon as the claim holds; checks it after each message. */
  async until(claim: (edge: TestEdge) => boolean): Promise<void> {
    const signal = AbortSignal.timeout(60_000);
    while (!claim(this)) await once(this.#events, 'change', { signal });
  }

  acknowledge(seq: number): void {
    this.send({ type: 'ack', seq });
  }

  close(): void {
    this.#stream.destroy();
  }

  #take(message: ToEdge): void {
    this.heard.push(message);
    if (message.type === 'welcome') this.epoch = message.epoch;
    if (message.type === 'ping' && this.answersPings) this.send({ type: 'pong', id: message.id });
    if (message.type === 'snapshot' || message.type === 'delta') this.#apply(message);
    this.#events.emit('change');
  }

  #apply(message: Message<'snapshot'> | Message<'delta'>): void {
    if (message.type === 'snapshot') for (const part of Object.values(this.#state)) part.clear();
    const change = message.type === 'snapshot' ? { put: message.state, drop: {} } : message;
    applyChange(this.#state, change);
    this.seq = message.seq;
    if (this.acknowledges) this.acknowledge(message.seq);
  }
}

/** An edge in this process; `accept` gets the other end of its connection. */
export function connectEdge(accept: (duplex: Duplex) => void): TestEdge {
  const [ours, theirs] = duplexPair();
  accept(theirs);
  return new TestEdge(ours);
}
