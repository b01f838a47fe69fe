// One edge's connection: checks what the edge sends, and keeps what it has acknowledged. Knows nothing of other edges.

import {
  type FeedCopy,
  type FeedPortProblems,
  type FeedTunnelLog,
  type FromEdge,
  feedVersion,
  type ToEdge,
} from '@underpass/wire/feed/feed.ts';
import { isHello, isPong, isReport, isVisitorLog } from './core/edge-words.ts';
import type { EdgeAbout, EdgeReport } from './edge-view.ts';
import type { RegionState } from './region-state.ts';

/** Carries the messages: wire/feed/feed-stream.ts over the edge's Duplex. */
export interface FeedChannel {
  readonly send: (message: ToEdge) => void;
  /** Resolves in a later turn of the event loop, once the edge has taken what was sent or is gone. */
  readonly ready: () => Promise<void>;
  readonly close: () => void;
}

type Hello = Extract<FromEdge, { type: 'hello' }>;

/** Changes that wait while an edge gets a snapshot, for a second or two. An edge that needs longer is cut, and dials again. */
const mostWaiting = 1_000;

/** Each answer to a ping says that the edge works; two answers may be lost. */
export const silentPings = 3;

/** A report keeps this many clients per tunnel. With the longest texts (core/edge-words.ts) they still fit a bus message. */
const maxClients = 1_000;

interface EdgeSessionDeps {
  readonly region: string;
  readonly state: RegionState;
  readonly channel: FeedChannel;
  readonly now: () => number;
  readonly onHello: (edgeId: string) => void;
  /** Called when ackedSeq changes. */
  readonly onAck: () => void;
  /** Called after the hello and after each answer to a ping. */
  readonly onHeard: (about: EdgeAbout) => void;
  readonly onReport: (report: EdgeReport) => void;
  /** Only tunnels of the edge's own region. */
  readonly onVisitorLog: (logs: readonly FeedTunnelLog[]) => void;
  readonly onRefused: (why: string) => void;
}

const validId = (text: unknown): boolean => typeof text === 'string' && /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}$/.test(text);

/** Why control refuses this hello; undefined if it accepts it. */
function helloProblem(hello: Hello, region: string): string | undefined {
  if (hello.version !== feedVersion)
    return `feed version must be ${feedVersion}, is ${JSON.stringify(hello.version)?.slice(0, 20)}`;
  if (!isHello(hello)) return 'a malformed hello';
  if (hello.region !== region) return 'the key belongs to another region';
  if (!validId(hello.edgeId)) return 'the edge id is not letters, digits, dots and hyphens';
  return undefined;
}

const isSent = (seq: number, newest: number): boolean => Number.isSafeInteger(seq) && seq >= 0 && seq <= newest;

export class EdgeSession {
  readonly #deps: EdgeSessionDeps;
  readonly #connectedAtMs: number;
  /** Undefined until the edge says hello; it gets none of the region's state before. */
  #hello: Hello | undefined;
  /** The state of the edge's copy at its last pong. */
  #copy: FeedCopy | undefined;
  #portProblems: FeedPortProblems | undefined;
  #sent = 0;
  #acked = 0;
  #owesSinceMs: number | undefined;
  /** Changes for an edge that is still being brought up to date; null once it is. */
  #waiting: ToEdge[] | null = null;
  #reports = 0;
  #pings = 0;
  /** Pings since the last message. Counted, so that control does not take a pause of its own for silence of all edges. */
  #unanswered = 0;

  constructor(deps: EdgeSessionDeps) {
    this.#deps = deps;
    this.#connectedAtMs = deps.now();
  }

  get edgeId(): string | undefined {
    return this.#hello?.edgeId;
  }

  get ackedSeq(): number {
    return this.#acked;
  }

  /** How long the edge has owed an acknowledgement; 0 if it owes none. */
  owesForMs(): number {
    return this.#owesSinceMs === undefined ? 0 : this.#deps.now() - this.#owesSinceMs;
  }

  receive(message: FromEdge): void {
    this.#unanswered = 0;
    const problem = this.#problemOf(message);
    if (problem !== undefined) this.#refuse(problem);
    else if (message.type === 'hello') this.#welcome(message);
    else if (message.type === 'ack') this.#acknowledge(message.seq);
    else if (message.type === 'report' && this.#hello !== undefined) this.#report(message, this.#hello);
    else if (message.type === 'visitor-log') this.#noteVisitors(message.tunnels);
    else if (message.type === 'pong' && this.#hello !== undefined) {
      this.#copy = message.copy;
      this.#portProblems = this.#oursOf(message.portProblems);
      this.#deps.onHeard(this.#about(this.#hello));
    }
  }

  /** Skips an edge that has not said hello: its hello brings it up to date. */
  send(message: ToEdge): void {
    if (this.#hello === undefined) return;
    if (this.#waiting === null) this.#send(message);
    else if (this.#waiting.push(message) > mostWaiting) this.close();
  }

  /** Cuts the edge instead if it has answered none of the last pings. */
  ping(): void {
    if (this.#unanswered === silentPings) {
      this.close();
      return;
    }
    this.#unanswered += 1;
    this.#sendPing();
  }

  #sendPing(): void {
    this.#pings += 1;
    this.#deps.channel.send({ type: 'ping', id: this.#pings });
  }

  close(): void {
    this.#deps.channel.close();
  }

  #refuse(why: string): void {
    this.#deps.onRefused(why);
    this.close();
  }

  #problemOf(message: FromEdge): string | undefined {
    const { region, state } = this.#deps;
    if (message.type === 'hello') return this.#hello === undefined ? helloProblem(message, region) : 'a second hello';
    if (this.#hello === undefined) return 'a message before the hello';
    if (message.type === 'ack')
      return isSent(message.seq, state.seq) ? undefined : 'an acknowledgement of a message that was never sent';
    if (message.type === 'report') return isReport(message) ? undefined : 'a malformed report';
    if (message.type === 'visitor-log') return isVisitorLog(message) ? undefined : 'a malformed visitor log';
    if (message.type === 'pong') return isPong(message) ? undefined : 'a malformed pong';
    return 'a message of unknown type';
  }

  #welcome(hello: Hello): void {
    const { region, state, channel } = this.#deps;
    this.#hello = hello;
    channel.send({
      type: 'welcome',
      version: feedVersion,
      epoch: state.epoch,
      region,
      takesPartial: true,
      takesVisitorLog: true,
    });
    const held = hello.epoch === state.epoch ? hello.seq : undefined;
    this.#bringUp(held).catch((error: Error) => this.#refuse(error.message));
    const lacksNothing = this.#sent === 0;
    this.#deps.onHello(hello.edgeId);
    this.#deps.onHeard(this.#about(hello));
    if (lacksNothing && held !== undefined) this.#acknowledge(held);
  }

  /** Sends the first message at once, and each further piece of a large snapshot in a turn of its own. */
  async #bringUp(held: number | undefined): Promise<void> {
    const { state, channel } = this.#deps;
    const waiting: ToEdge[] = [];
    this.#waiting = waiting;
    for (const each of state.catchUp(held)) {
      this.#send(each);
      if (each.more === true) await channel.ready();
    }
    this.#waiting = null;
    for (const message of waiting) this.#send(message);
    // The edge takes it as the end of what it lacked, also if that was nothing.
    this.#sendPing();
  }

  #acknowledge(seq: number): void {
    this.#acked = Math.max(this.#acked, seq);
    this.#owesSinceMs = this.#acked >= this.#sent ? undefined : this.#deps.now();
    this.#deps.onAck();
  }

  #send(message: ToEdge): void {
    this.#deps.channel.send(message);
    if (message.type !== 'snapshot' && message.type !== 'delta') return;
    this.#sent = message.seq;
    this.#owesSinceMs ??= this.#deps.now();
  }

  /** Keeps only tunnels of the edge's own region: an edge may not report for others. */
  #report({ atMs, tunnels, partial = false }: Extract<FromEdge, { type: 'report' }>, hello: Hello): void {
    this.#reports += 1;
    const ours = tunnels
      .filter(({ tunnelId }) => this.#deps.state.has('tunnels', tunnelId))
      .map((each) => ({ ...each, clients: each.clients.slice(0, maxClients) }));
    this.#deps.onReport({ about: this.#about(hello), first: this.#reports === 1, atMs, partial, tunnels: ours });
  }

  #oursOf(problems: FeedPortProblems | undefined): FeedPortProblems | undefined {
    const ours = Object.entries(problems ?? {}).filter(([tunnelId]) => this.#deps.state.has('tunnels', tunnelId));
    return ours.length === 0 ? undefined : Object.fromEntries(ours);
  }

  #noteVisitors(logs: readonly FeedTunnelLog[]): void {
    this.#deps.onVisitorLog(logs.filter(({ tunnelId }) => this.#deps.state.has('tunnels', tunnelId)));
  }

  #about({ edgeId, software, startedAtMs, hopAddress }: Hello): EdgeAbout {
    const { region, state } = this.#deps;
    const connectedAtMs = this.#connectedAtMs;
    const acknowledged = this.#acked === state.seq;
    return {
      edgeId,
      region,
      software,
      connectedAtMs,
      startedAtMs,
      hopAddress,
      acknowledged,
      copy: this.#copy,
      portProblems: this.#portProblems,
    };
  }
}
