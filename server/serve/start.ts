// The server in one of its roles: everything, only control, or the edge of one region.

import { type Duplex, duplexPair } from 'node:stream';
import { readUnchangedColumns } from '@underpass/control/edges/region/changed-columns.ts';
import { keepConsoleHost } from '@underpass/control/edges/region/console-host.ts';
import { handleOf, type NamedSocket, type SocketHandle, socketKey } from '@underpass/edge/door/listen.ts';
import type { Edge } from '@underpass/edge/edge.ts';
import type { StatusRow } from '@underpass/rules/entity/resource.ts';
import { durations } from '@underpass/rules/limits.ts';
import { formatPortRange } from '@underpass/rules/tunnel/port-range.ts';
import type { Logger } from 'pino';
import { ServerError } from '../process/error.ts';
import { translateRefusal } from '../process/refusal.ts';
import { version } from '../process/version.ts';
import { type Settings, settingTable } from '../settings/settings.ts';
import { expectNoLostDatabase, expectWholeDatabase } from '../state/database-file.ts';
import { lockHome } from '../state/home-lock.ts';
import { openState, type State } from '../state/state.ts';
import type { ControlCore, Replaced } from './control-core.ts';
import { controlAddress, type RunningControl, startControl, useKeys } from './control-part.ts';
import { openEdge } from './edge-part.ts';
import type { Elder } from './elder.ts';
import { dialFeed } from './feed-dial.ts';
import { type FirstTunnel, isUnused, openFirstTunnel } from './first-run.ts';
import { type MetricsDoor, openMetricsDoor } from './metrics-door.ts';
import { readControlStatus, readEdgeStatus } from './status.ts';
import { renderHints, renderSummary, renderWelcome } from './welcome.ts';

export interface Running {
  readonly ports: { readonly control?: number; readonly https?: number; readonly http?: number; readonly metrics?: number };
  /** What to print: the welcome of a first start, or a few lines. */
  readonly text: string;
  /** Gives open connections some time to finish. */
  close(): Promise<void>;
  /** How all parts stand. */
  status(): Promise<readonly StatusRow[]>;
  /** Takes other master keys, and seals everything with the newest. Returns what the command prints. */
  useKeys(text: string): Promise<string>;
  /** What a successor inherits. */
  bequeath(): ReturnType<Edge['bequeath']>;
  /** Leaves the edge's feed and copy of the routes to the successor, or takes them back. */
  hold(held: boolean): Promise<void>;
  /** Locks the home folder, or unlocks it for the successor. */
  lock(held: boolean): Promise<void>;
  /** The successor accepts connections. Ends this server once the open ones have finished; `onQuiet` when control has answered the last request. */
  leave(onQuiet: () => void): Promise<void>;
}

/**
 * Time for connections to finish after a handover. No more than a minute: changes of control may not reach them in the process
 * that is left, and a suspension takes effect within a minute.
 */
export const leaveMs = ({ drainSeconds }: Settings): number => Math.min(drainSeconds, 60) * 1_000;

/** Takes over from a running server if there is an `elder`: the home folder is locked last. */
export async function startServer(settings: Settings, log: Logger, replaced: Replaced = {}, elder?: Elder): Promise<Running> {
  let unlock = elder === undefined ? await lockHome(settings) : () => {};
  try {
    const running = await (settings.role === 'edge'
      ? startEdge(settings, log, elder)
      : startWithControl(settings, log, replaced, elder));
    if (elder !== undefined) {
      elder.legacy.sockets.closeRest();
      unlock = await takeLock(settings, elder, running);
    }
    return {
      ...running,
      close: () => running.close().finally(unlock),
      lock: async (held) => {
        unlock();
        if (held) unlock = await lockHome(settings);
      },
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

/** The last step of a handover. The elder, which goes on after a failure, needs its connections no longer to be accepted here. */
async function takeLock(settings: Settings, elder: Elder, running: Unlocked): Promise<() => void> {
  try {
    await elder.succeed();
    const unlock = await lockHome(settings);
    elder.locked();
    return unlock;
  } catch (error) {
    await running.close();
    throw error;
  }
}

type Unlocked = Omit<Running, 'lock'>;

async function startEdge(settings: Settings, log: Logger, elder?: Elder): Promise<Unlocked> {
  const { controlUrl = '', edgeKey: key = '', region } = settings;
  await elder?.holdEdge();
  const edge = await openEdge(settings, () => dialFeed({ controlUrl, region, key }), log, undefined, elder?.legacy);
  if (elder !== undefined) elder.onLeft = () => forget(edge, log);
  const { https, http, hop, metrics } = edge.ports;
  return {
    ports: portsOf(edge),
    text: renderSummary({
      role: 'edge',
      version,
      region,
      ports: [https, http, hop, metrics].filter((port) => port !== null),
      origin: undefined,
      database: undefined,
    }),
    close: () => closeEdge(edge, settings),
    status: async () => readEdgeStatus(settings, edge),
    useKeys: async () => {
      throw new ServerError('refused', 'an edge has no master key; run this where control runs');
    },
    bequeath: () => edge.bequeath(),
    hold: (held) => edge.hold(held, true),
    leave: (onQuiet) => {
      onQuiet();
      return leaveEdge(edge, settings);
    },
  };
}

/** The process before this one has no clients any more. */
function forget(edge: Edge | undefined, log: Logger): void {
  edge?.elderLeft();
  log.info('upgrade: the last connection of the process before this one is closed');
}

function portsOf({ ports: { https, http, metrics } }: Edge): { https: number; http: number; metrics?: number } {
  return { https, http, ...(metrics === null ? {} : { metrics }) };
}

async function closeEdge(edge: Edge, { drainSeconds }: Settings): Promise<void> {
  await edge.drain(drainSeconds * 1_000);
  await edge.close();
}

async function leaveEdge(edge: Edge, settings: Settings): Promise<void> {
  await edge.leave(leaveMs(settings));
  await edge.close();
}

/** Opens the edge of this process with an in-memory feed; resolves when the edge has its routes. */
async function openLocalEdge(
  settings: Settings,
  { core: { hub }, consolePath }: RunningControl,
  log: Logger,
  elder?: Elder,
): Promise<Edge> {
  const { region } = settings;
  const dialled = Promise.withResolvers<void>();
  const dial = async (): Promise<Duplex> => {
    const [ours, theirs] = duplexPair();
    hub.accept(theirs, { region });
    dialled.resolve();
    return ours;
  };
  await elder?.holdEdge();
  const edge = await openEdge(settings, dial, log, consolePath, elder?.legacy);
  await dialled.promise;
  await hub.delivered(region);
  return edge;
}

interface First {
  readonly signInUrl: string;
  readonly tunnel: FirstTunnel | undefined;
}

/** Settings without which a start would give a region of the database, as after a restore, the values of a laptop. */
const regionRows = [
  [settingTable.regionDescription, 'description'],
  [settingTable.dataPlaneHost, 'data_plane_host'],
  [settingTable.wildcardDomain, 'wildcard_ingress_domain'],
] as const;

/** Refuses to replace what the database says of the region by defaults that no setting names. */
async function expectKeptRegion({ role, region: name, given }: Settings, { store }: State): Promise<void> {
  if (role !== 'all') return;
  const stored = await readUnchangedColumns(store.db, name);
  const lost = regionRows.flatMap(([{ name: setting, fallback }, field]) => {
    const value = stored[field];
    return !value || given.has(setting) || value === fallback({}) ? [] : [`\n  ${setting}="${value}"`];
  });
  if (lost.length === 0) return;
  throw new ServerError(
    'settings-refused',
    `region "${name}" is in the database, and these defaults would replace its values. Set them, to these or other values:${lost.join('')}`,
  );
}

/** Creates or updates the region that the settings describe. If they name no port, `httpsPort` is the one that the system chose. */
async function ensureRegion(settings: Settings, { control }: ControlCore, httpsPort: number, httpPort: number): Promise<void> {
  const { region: name, regionDescription: description, dataPlaneHost, wildcardDomain: wildcardIngressDomain } = settings;
  await control.operator.ensureRegion({
    name,
    description,
    dataPlaneHost,
    wildcardIngressDomain,
    tcpPorts: settings.tcpPorts ? formatPortRange(settings.tcpPorts) : '',
    tlsTermination: true,
    httpsPort,
    httpPort,
  });
}

/**
 * Runs before control is ready (/readyz). Makes the region; on the first start also the operator and, on a laptop, a tunnel. Each
 * start prints the welcome until somebody has signed in: it may have scrolled away, or the first start may have failed at a port.
 */
async function prepare(settings: Settings, state: State, core: ControlCore): Promise<First | undefined> {
  const { operator } = core.control;
  // With several control processes, another one may be the server whose edge serves the dashboard.
  if (settings.role === 'all' || settings.replicas === 1) {
    const host = new URL(settings.origin).hostname;
    await keepConsoleHost(state.store.db, settings.edgeConsole ? { host, region: settings.region } : null);
  }
  if (settings.role === 'all') await ensureRegion(settings, core, settings.publicHttpsPort || 443, settings.edgeHttpPort || 80);
  const isNew = await operator.ensureOperator();
  if (!isNew && !(await isUnused(state, settings))) return undefined;
  const signInUrl = await operator.createLoginLink(settings.operatorEmail);
  const laptop = settings.role === 'all' && !settings.production;
  return { signInUrl, tunnel: laptop ? await openFirstTunnel(state, settings, isNew) : undefined };
}

async function startLocalEdge(settings: Settings, control: RunningControl, log: Logger, elder?: Elder): Promise<Edge> {
  const edge = await openLocalEdge(settings, control, log, elder);
  if (settings.publicHttpsPort === 0) await ensureRegion(settings, control.core, edge.ports.https, edge.ports.http);
  return edge;
}

async function startWithControl(settings: Settings, log: Logger, replaced: Replaced, elder?: Elder): Promise<Unlocked> {
  expectNoLostDatabase(settings);
  await expectWholeDatabase(settings, log);
  const state = await openState(settings, log);
  const opened: (() => Promise<void>)[] = [() => state.close()];
  const closeAll = async (): Promise<void> => {
    for (const close of opened.splice(0).reverse()) await close();
  };
  try {
    await expectKeptRegion(settings, state);
    let first: First | undefined;
    const begin = async (core: ControlCore): Promise<void> => {
      first = await prepare(settings, state, core);
    };
    const inherited = elder?.legacy.sockets;
    const control = await startControl(settings, state, begin, replaced, inherited);
    let left = Promise.resolve();
    opened.push(() => left.then(() => control.close()));
    const edge = settings.role === 'all' ? await startLocalEdge(settings, control, log, elder) : undefined;
    let leave = false;
    if (edge !== undefined) opened.push(() => (leave ? leaveEdge(edge, settings) : closeEdge(edge, settings)));
    control.orderCertificates();
    const registries = [control.core.control.metrics, ...(edge === undefined ? [] : [edge.registry])];
    const metrics = await openMetricsDoor(settings, registries, log, inherited);
    opened.push(async () => metrics?.close());
    if (elder !== undefined) {
      await control.open();
      elder.onQuiet = control.refresh;
      elder.onLeft = () => forget(edge, log);
    }
    return {
      ports: {
        control: control.port,
        ...(edge === undefined ? {} : portsOf(edge)),
        ...(metrics === undefined ? {} : { metrics: metrics.port }),
      },
      text: renderStart(settings, state, control, edge, first),
      close: async () => {
        control.beginStop();
        await closeAll();
      },
      status: () => readControlStatus(settings, state, control.core, edge),
      useKeys: (text) => useKeys(settings, state, text),
      bequeath: async () => {
        const { sockets = [], siblingPaths = [] } = (await edge?.bequeath()) ?? {};
        return { sockets: [...sockets, ...socketsOf(settings, control, metrics)], siblingPaths };
      },
      hold: async (held) => edge?.hold(held, false),
      leave: async (onQuiet) => {
        leave = true;
        // Control itself stays until the edge is done: the connections that it still has must hear of changes.
        left = control.leave().then(onQuiet);
        await closeAll();
      },
    };
  } catch (error) {
    await closeAll();
    throw translateRefusal(error);
  }
}

function socketsOf(settings: Settings, control: RunningControl, metrics: MetricsDoor | undefined): readonly NamedSocket[] {
  const { metricsListen: host, metricsPort: port = 0 } = settings;
  const named: readonly (readonly [string, SocketHandle | null])[] = [
    [socketKey('control', controlAddress(settings)), handleOf(control.server)],
    [socketKey('metrics', { host, port }), metrics === undefined ? null : handleOf(metrics.server)],
  ];
  return named.flatMap(([name, handle]) => (handle === null ? [] : [{ name, handle }]));
}

/** Control serves it there (control/site/mailbox-page.ts). */
const mailboxUrl = ({ origin, production, smtpUrl }: Settings): string | undefined =>
  production || smtpUrl !== undefined ? undefined : `${origin}/dev/mailbox`;

const publicUrl = (host: string, port: number): string => `https://${host}${port === 443 ? '' : `:${port}`}`;

function renderStart(
  settings: Settings,
  state: State,
  { core, port }: RunningControl,
  edge: Edge | undefined,
  first: First | undefined,
): string {
  const { origin, role, region, dataPlaneHost } = settings;
  const publicHttpsPort = settings.publicHttpsPort || (edge?.ports.https ?? 443);
  const { localCa } = core.sources;
  if (first?.tunnel !== undefined && localCa !== undefined) {
    const { host, tokenPath } = first.tunnel;
    const pin = core.sources.clientPin(dataPlaneHost);
    const url = `${publicUrl(dataPlaneHost, publicHttpsPort)}${pin === undefined ? '' : `#ca=${pin}`}`;
    const tunnel = { url, tokenPath, publicUrl: publicUrl(host, publicHttpsPort) };
    return renderWelcome({
      origin,
      signInUrl: first.signInUrl,
      loginLinkMinutes: durations.loginLinkMinutes,
      caPath: localCa.certificatePath,
      mailboxUrl: mailboxUrl(settings),
      tunnel,
    });
  }
  const ports = [port, ...(edge === undefined ? [] : [edge.ports.https, edge.ports.http])];
  const summary = renderSummary({
    role,
    version,
    origin,
    region: edge === undefined ? undefined : region,
    ports,
    database: state.store.kind,
  });
  const operator = first === undefined ? '' : `first operator ${settings.operatorEmail}: sign in at ${first.signInUrl}\n`;
  return `${summary}${operator}${settings.production ? '' : renderHints(mailboxUrl(settings))}`;
}
