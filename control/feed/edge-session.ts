// One edge's connection: its hello, what is sent to it, what it acknowledges and reports. Knows nothing of other edges.

import type { FromEdge, ToEdge } from '@underpass/wire/feed.ts';
import { feedVersion } from '@underpass/wire/feed.ts';
import { isHello, isReport } from './core/edge-words.ts';
import type { EdgeAbout, EdgeReport } from './edge-view.ts';
import type { RegionState } from './region-state.ts';

/** What carries the messages: wire/feed-stream.ts over whatever Duplex the edge came by. */
export interface FeedChannel {
  readonly send: (message: ToEdge) => void;
  readonly close: () => void;
}

type Hello = Extract<FromEdge, { type: 'hello' }>;

/** Most clients of one tunnel on one edge that are believed; with their texts (core/edge-words.ts) far less than the bus takes. */
const maxClients = 1_000;

export interface EdgeSession {
  readonly edgeId: () => string | undefined;
  readonly ackedSeq: () => number;
  /** For how long it has owed an acknowledgement; 0 when it owes none. */
  readonly owesForMs: () => number;
  readonly heardAtMs: () => number;
  readonly receive: (message: FromEdge) => void;
  readonly send: (message: ToEdge) => void;
  readonly ping: () => void;
  readonly close: () => void;
}

export interface EdgeSessionDeps {
  readonly region: string;
  readonly state: RegionState;
  readonly channel: FeedChannel;
  readonly now: () => number;
  readonly onHello: (edgeId: string) => void;
  /** ackedSeq moved. */
  readonly onAck: () => void;
  /** It lives: after its hello and with each answer to a ping. */
  readonly onHeard: (about: EdgeAbout) => void;
  readonly onReport: (report: EdgeReport) => void;
  readonly onRefused: (why: string) => void;
}

const validId = (text: unknown): boolean => typeof text === 'string' && /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}$/.test(text);

/** Why a hello is refused; undefined when it is fine. */
function helloProblem(hello: Hello, region: string): string | undefined {
  if (hello.version !== feedVersion)
    return `feed version must be ${feedVersion}, is ${JSON.stringify(hello.version)?.slice(0, 20)}`;
  if (!isHello(hello)) return 'a hello out of shape';
  if (hello.region !== region) return 'the key belongs to another region';
  if (!validId(hello.edgeId)) return 'the edge id is not letters, digits, dots and hyphens';
  return undefined;
}

const isSent = (seq: number, newest: number): boolean => Number.isSafeInteger(seq) && seq >= 0 && seq <= newest;

export function createEdgeSession(deps: EdgeSessionDeps): EdgeSession {
  const { region, state, channel, now } = deps;
  const connectedAtMs = now();
  let hello: Hello | undefined;
  let acked = 0;
  let sent = 0;
  let owesSinceMs: number | undefined;
  let heardAtMs = connectedAtMs;
  let reports = 0;
  let pings = 0;

  const refuse = (why: string): void => {
    deps.onRefused(why);
    channel.close();
  };

  const welcome = (message: Hello): void => {
    hello = message;
    channel.send({ type: 'welcome', version: feedVersion, epoch: state.epoch, region });
    const held = message.epoch === state.epoch ? message.seq : undefined;
    const missing = state.catchUp(held);
    for (const each of missing) send(each);
    deps.onHello(message.edgeId);
    deps.onHeard(aboutEdge(message));
    if (missing.length === 0 && held !== undefined) acknowledge(held);
  };

  const acknowledge = (seq: number): void => {
    acked = Math.max(acked, seq);
    owesSinceMs = acked >= sent ? undefined : now();
    deps.onAck();
  };

  const send = (message: ToEdge): void => {
    channel.send(message);
    if (message.type !== 'snapshot' && message.type !== 'delta') return;
    sent = message.seq;
    owesSinceMs ??= now();
  };

  const aboutEdge = ({ edgeId, software, startedAtMs, hopAddress }: Hello): EdgeAbout => ({
    edgeId,
    region,
    software,
    connectedAtMs,
    startedAtMs,
    hopAddress,
    acknowledged: acked === state.seq(),
  });

  /** Of its own region alone: what it says of others, or makes up, is not its to say. */
  const report = ({ atMs, tunnels }: Extract<FromEdge, { type: 'report' }>, from: Hello): void => {
    reports += 1;
    const ours = tunnels
      .filter(({ tunnelId }) => state.has('tunnels', tunnelId))
      .map((each) => ({ ...each, clients: each.clients.slice(0, maxClients) }));
    deps.onReport({ about: aboutEdge(from), first: reports === 1, atMs, tunnels: ours });
  };

  const problemOf = (message: FromEdge): string | undefined => {
    if (message.type === 'hello') return hello === undefined ? helloProblem(message, region) : 'a second hello';
    if (hello === undefined) return 'no hello first';
    if (message.type === 'ack') return isSent(message.seq, state.seq()) ? undefined : 'an acknowledgement of what was never sent';
    if (message.type === 'report') return isReport(message) ? undefined : 'a report out of shape';
    return message.type === 'pong' ? undefined : 'a message of unknown type';
  };

  const receive = (message: FromEdge): void => {
    heardAtMs = now();
    const problem = problemOf(message);
    if (problem !== undefined) refuse(problem);
    else if (message.type === 'hello') welcome(message);
    else if (message.type === 'ack') acknowledge(message.seq);
    else if (message.type === 'report' && hello !== undefined) report(message, hello);
    else if (message.type === 'pong' && hello !== undefined) deps.onHeard(aboutEdge(hello));
  };

  return {
    edgeId: () => hello?.edgeId,
    ackedSeq: () => acked,
    owesForMs: () => (owesSinceMs === undefined ? 0 : now() - owesSinceMs),
    heardAtMs: () => heardAtMs,
    receive,
    send: (message) => {
      if (hello !== undefined) send(message);
    },
    ping: () => {
      pings += 1;
      channel.send({ type: 'ping', id: pings });
    },
    close: () => channel.close(),
  };
}
