// Which server answers which visitor: one for each session and one for each visitor's requests without a session, or with --shared
// one for all. Servers start when they are needed, and again after they ended.

import { randomBytes } from 'node:crypto';
import { type Era, statusOf } from './core/check.ts';
import { codes, errorOf, type Json, type Request, resultOf, type Unasked } from './core/message.ts';
import { createSeats, type Seat } from './core/seats.ts';
import { createStartGate } from './core/start-gate.ts';
import type { McpLimits } from './limits.ts';
import type { Outlet } from './outlet.ts';
import { type Opened, openServer, sharedInitialize, takeTools } from './prepared.ts';
import { type Party, type RunningServer, runServer, type ServerEnd } from './running-server.ts';
import type { ProcessEvents, ServerProcess } from './server-process.ts';
import { createSession, type Session } from './session.ts';
import { clientCapabilitiesOf, createTranslation, type Translation } from './translation.ts';

interface BridgeOptions {
  readonly start: (events: ProcessEvents) => ServerProcess;
  readonly isShared: boolean;
  readonly limits: McpLimits;
  readonly now: () => number;
  /** A line of a server, for the log. */
  readonly onLog: (line: string) => void;
  readonly onEnd: (end: ServerEnd) => void;
}

export interface Refusal {
  readonly status: number;
  readonly text: string;
  readonly retryMs?: number;
}

export interface Bridge {
  /** Starts a server, to see that it works. Returns what is known of it. */
  readonly check: () => Promise<Opened | undefined>;
  readonly openSession: (visitor: string, request: Request, outlet: Outlet, primes: boolean) => Promise<Refusal | undefined>;
  readonly session: (id: string, visitor: string) => Session | undefined;
  readonly endSession: (session: Session) => void;
  readonly requestStateless: (visitor: string, request: Request, outlet: Outlet) => Promise<Refusal | undefined>;
  readonly end: () => Promise<void>;
}

/** A server that this program opened, for requests of several clients. */
interface Prepared extends Seat {
  readonly server: RunningServer;
  readonly opened: Promise<Opened | undefined>;
  /** The translation of a server of a revision with sessions, once it is opened. */
  readonly translation: () => Translation | undefined;
  readonly end: () => Promise<void>;
}

type Owner = Session | Prepared;

const sessionIdBytes = 24;
/** Notifications that say nothing of one client. */
const forAll = /^notifications\/(tools|prompts|resources)\/list_changed$/;
/** Clients that can answer different questions of a server get one each. */
const statelessId = (visitor: string, capabilities: Json): string => `stateless ${visitor} ${JSON.stringify(capabilities)}`;
/** A server that refuses one revision is no failure of the other. */
const gateKey = (visitor: string, era: Era = 'stateless'): string => `${era} ${visitor}`;
/** The visitor of a server that all share. No visitor's name is empty. */
const everybody = '';

const full: Refusal = { status: 503, text: 'Too many MCP servers run. Close a session, or try again later.', retryMs: 30_000 };

const notOpened: Refusal = { status: 503, text: 'The MCP server did not open.', retryMs: 5_000 };

export function createBridge(options: BridgeOptions): Bridge {
  const { isShared, limits, now } = options;
  const seats = createSeats<Owner>(isShared ? limits.sharedSeats : limits.seats);
  /** Servers that all share. They have no seat: nobody's place is taken by them. */
  const shared = new Map<string, Prepared>();
  const gate = createStartGate();
  const servers = new Set<RunningServer>();
  let era: Era | undefined;
  const sweeper = setInterval(sweep, limits.sweepMs);
  sweeper.unref();

  function sweep(): void {
    for (const server of servers) server.sweep();
    for (const owner of seats.idle(now())) drop(owner);
  }

  function drop(owner: Owner): void {
    seats.remove(owner);
    void owner.end();
  }

  /** `key`: who waits if it ends early. */
  function startServer(
    key: string,
    onOther: (server: RunningServer, message: Unasked) => void,
    onEnd: () => void,
  ): RunningServer {
    const server = runServer({
      ...options,
      onOther: (message) => onOther(server, message),
      onEnd(end) {
        servers.delete(server);
        if (end.how === 'early') gate.failed(key, now());
        if (end.how === 'late') gate.worked(key);
        onEnd();
        options.onEnd(end);
      },
    });
    servers.add(server);
    return server;
  }

  /** Why no server may start now. */
  function refuseStart(key: string): Refusal | undefined {
    const retryMs = gate.waitMs(key, now());
    return retryMs === 0 ? undefined : { status: 503, text: 'The MCP server ended at its start. Try again later.', retryMs };
  }

  function refuseSeat(visitor: string): Refusal | undefined {
    const room = seats.room(visitor);
    if (room === 'full') return full;
    if (room !== 'free') drop(room);
    return undefined;
  }

  function prepare(visitor: string, wanted: Era | undefined, capabilities: Json, forget: () => void): Prepared {
    let translation: Translation | undefined;
    const onOther = (from: RunningServer, message: Unasked) => takeUnasked(from, message, translation);
    const server = startServer(gateKey(visitor, wanted), onOther, () => {
      forget();
      translation?.end();
      for (const owner of seats.all()) if (owner.server === server) drop(owner);
    });
    const opened = openServer(server, limits, capabilities, wanted).then((found) => {
      if (found?.era === 'session') translation = createTranslation(server, found, capabilities, limits);
      if (found !== undefined) return found;
      forget();
      void server.end();
      return undefined;
    });
    const isBusy = () => server.isBusy() || translation?.isBusy() === true;
    const id = statelessId(visitor, capabilities);
    return { id, visitor, usedMs: now(), server, opened, translation: () => translation, isBusy, end: server.end };
  }

  /** A server of several clients may tell all of them what concerns all, and ask none. */
  function takeUnasked(server: RunningServer, message: Unasked, translation: Translation | undefined): void {
    const { kind, method } = message;
    if (kind === 'notification') {
      if (!forAll.test(method)) return;
      translation?.take(message);
      for (const owner of seats.all()) if ('take' in owner && owner.server === server) owner.take(message);
    } else if (method === 'ping') server.send(resultOf(message.id, {}));
    else if (isShared || translation?.take(message) !== true)
      server.send(errorOf(message.id, codes.unknownMethod, `Method not found: ${method}`));
  }

  function forgetShared(prepared: Prepared): void {
    for (const [kind, each] of shared) if (each === prepared) shared.delete(kind);
  }

  function sharedServer(wanted: Era): Prepared {
    const kind = era === 'session' ? 'session' : wanted;
    const running = shared.get(kind);
    if (running !== undefined) return running;
    const prepared = prepare(everybody, kind, {}, () => forgetShared(prepared));
    shared.set(kind, prepared);
    return prepared;
  }

  async function openShared(visitor: string, request: Request, outlet: Outlet, primes: boolean): Promise<Refusal | undefined> {
    const { server, opened } = sharedServer('session');
    const found = await opened;
    if (found === undefined) return notOpened;
    const refusal = refuseSeat(visitor);
    if (refusal !== undefined) return refusal;
    const session = addSession(visitor, server, outlet);
    session.answer(request, outlet, primes, sharedInitialize(request, found));
    return undefined;
  }

  function addSession(visitor: string, server: RunningServer, outlet: Outlet): Session {
    const id = randomBytes(sessionIdBytes).toString('base64url');
    const onRefused = () => drop(session);
    const session = createSession({ id, visitor, server, isShared, limits, now, onRefused });
    seats.add(session);
    outlet.setHeader('mcp-session-id', id);
    return session;
  }

  function openOwn(visitor: string, request: Request, outlet: Outlet, primes: boolean): void {
    const onOther = (_: RunningServer, message: Unasked) => session.take(message);
    const server = startServer(gateKey(visitor, 'session'), onOther, () => drop(session));
    const session = addSession(visitor, server, outlet);
    session.request(request, outlet, primes);
  }

  function statelessServer(visitor: string, request: Request): Prepared | Refusal {
    if (isShared) return sharedServer('stateless');
    const capabilities = era === 'session' ? clientCapabilitiesOf(request) : {};
    const found = seats.find(statelessId(visitor, capabilities), visitor, now());
    if (found !== undefined && 'opened' in found) return found;
    const refusal = refuseSeat(visitor);
    if (refusal !== undefined) return refusal;
    const prepared = prepare(visitor, era, capabilities, () => seats.remove(prepared));
    seats.add(prepared);
    return prepared;
  }

  return {
    async check() {
      const probe = prepare(everybody, undefined, {}, () => forgetShared(probe));
      const found = await probe.opened;
      era = found?.era;
      if (isShared && found !== undefined) shared.set(found.era, probe);
      else void probe.end();
      return found;
    },
    async openSession(visitor, request, outlet, primes) {
      const refusal = refuseStart(gateKey(isShared ? everybody : visitor, 'session'));
      if (refusal !== undefined) return refusal;
      if (isShared) return openShared(visitor, request, outlet, primes);
      const noSeat = refuseSeat(visitor);
      if (noSeat === undefined) openOwn(visitor, request, outlet, primes);
      return noSeat;
    },
    session(id, visitor) {
      const found = seats.find(id, visitor, now());
      return found !== undefined && 'request' in found ? found : undefined;
    },
    endSession: drop,
    async requestStateless(visitor, request, outlet) {
      const refusal = refuseStart(gateKey(isShared ? everybody : visitor, era));
      if (refusal !== undefined) return refusal;
      const prepared = statelessServer(visitor, request);
      if ('status' in prepared) return prepared;
      const opened = await prepared.opened;
      if (opened === undefined) return notOpened;
      sendStateless(prepared, request, { id: `stateless ${visitor}` }, outlet);
      return undefined;
    },
    async end() {
      clearInterval(sweeper);
      await Promise.all([...servers].map((server) => server.end()));
    },
  };
}

/** A client that leaves cancels its request (MCP 2026-07-28, Cancellation). */
function sendStateless({ server, translation }: Prepared, request: Request, party: Party, outlet: Outlet): void {
  const take = takeTools(request, (body, isAnswer) =>
    outlet.send({ data: JSON.stringify(body), isLast: isAnswer, status: statusOf(body) }),
  );
  outlet.open({ at: 'later' });
  const translated = translation();
  if (translated !== undefined) outlet.onGone(translated.request(request, party, take));
  else {
    server.request(request, party, take);
    outlet.onGone(() => void server.cancel(party, request.id));
  }
}
