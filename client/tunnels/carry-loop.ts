// What `underpass http`, `ingress`, `connect` and `run` do until a signal: start tunnels, show them, reload, drain.

import type { LoadedTunnel } from '../config/loaded-tunnel.ts';
import type { Inspector } from '../inspect/inspector.ts';
import { ClientError, exitCodes } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import { mostRequests, type RequestView, renderLiveStatus } from '../terminal/live-status.ts';
import { type LogEvent, renderLogLine } from '../terminal/log-line.ts';
import type { Output } from '../terminal/output.ts';
import { createScreen } from '../terminal/screen.ts';
import type { Health } from './health.ts';
import { startIdleMemory } from './idle-memory.ts';
import { type EventWatch, type Readiness, watchReady } from './readiness.ts';
import { startTunnel } from './running-tunnel.ts';
import type { watchFailure } from './start-failure.ts';
import { createTunnelSet, type TunnelSet } from './tunnel-set.ts';

export interface LoopOptions {
  readonly output: Output;
  readonly tunnels: readonly LoadedTunnel[];
  /** Reads the configuration again, on SIGHUP. Without it SIGHUP, which a closed terminal sends, ends the program as Ctrl-C does. */
  readonly reload?: () => Promise<readonly LoadedTunnel[]>;
  readonly health?: string | undefined;
  /** Called once with the function that reports events, for a part of this process that has events of its own. */
  readonly onReport?: (report: (event: LogEvent) => void) => void;
  readonly inspect?: InspectFlags | undefined;
  /** How long open connections may take to finish after a signal; 30 s if missing. */
  readonly drainMs?: number;
  /** Takes part in what happens, until the end. */
  readonly steer?: (steering: Steering) => Steered;
  /** Reports when a single tunnel takes its first visit. */
  readonly ready?: ReadyOptions;
}

interface ReadyOptions extends Readiness {
  /** `--print url`: gets the address once. A tunnel that does not start then ends the command with an error. */
  readonly print?: ((url: string) => void) | undefined;
}

export interface Steering {
  readonly views: TunnelSet['views'];
  /** Carries these tunnels instead, as a reload does. Nothing happens once the end has begun. */
  readonly apply: (tunnels: readonly LoadedTunnel[]) => void;
  /** Does what the first Ctrl-C does. */
  readonly stop: () => void;
}

export interface Steered {
  readonly onEvent: (event: LogEvent) => void;
  readonly end: () => void;
}

export interface InspectFlags {
  /** A free one if missing. */
  readonly port?: number | undefined;
  /** Secrets of webhooks, one in each line. */
  readonly secretFile?: string | undefined;
  /** No option asks for it: if it cannot start, the tunnels run without it. */
  readonly mayFail?: boolean;
}

const refreshMs = 1_000;
const trafficLineMs = 60_000;

/** Carries the tunnels until a signal. Returns the exit code. */
export async function carryUntilStopped(io: Io, options: LoopOptions): Promise<number> {
  const display = createDisplay(io, options.output.json, {
    views: () => tunnels.views(),
    requests: () => inspector?.latest(mostRequests) ?? [],
  });
  let steered: Steered | undefined;
  let watches: readonly EventWatch[] = [];
  let failure: ClientError | undefined;
  const report = (event: LogEvent) => {
    display.report(event);
    steered?.onEvent(event);
    for (const { onEvent } of watches) onEvent(event);
  };
  options.onReport?.(report);
  const inspector = await startInspecting(io, options, () => tunnels.views());
  const { drainMs, ready } = options;
  const createFailure = ready?.print && (await import('./start-failure.ts')).watchFailure;
  const tunnels = createTunnelSet((tunnel) => startTunnel(io, tunnel, report, { inspector, drainMs }));
  const stopIdleMemory = startIdleMemory(tunnels.streams);
  const health = await startHealthOf(options, tunnels.views).catch(async (error: unknown) => {
    await inspector?.close();
    throw error;
  });
  if (health) options.output.notice(`health: http://${health.address}/readyz`);
  try {
    tunnels.apply(options.tunnels);
    display.start();
    if (inspector) report({ tunnel: '*', event: 'inspecting', text: inspectText(io, options.output.json, inspector) });
    const code = await untilStopped(io, tunnels, display, {
      reload: options.reload,
      onStart: (steering) => {
        steered = options.steer?.(steering);
        watches = watchStart(options, steering, report, createFailure, (error) => {
          failure = error;
        });
      },
    });
    if (failure !== undefined) throw failure;
    return code;
  } finally {
    for (const { end } of watches) end();
    steered?.end();
    await inspector?.close();
    health?.close();
    stopIdleMemory();
    tunnels.close();
    display.stop();
  }
}

async function startHealthOf({ health }: LoopOptions, views: TunnelSet['views']): Promise<Health | undefined> {
  return health === undefined ? undefined : (await import('./health.ts')).startHealth(health, views);
}

function watchStart(
  { ready }: LoopOptions,
  { views, stop }: Steering,
  report: (event: LogEvent) => void,
  createFailure: typeof watchFailure | undefined,
  onFailed: (error: ClientError) => void,
): readonly EventWatch[] {
  if (ready === undefined) return [];
  const failure = createFailure?.(ready, (error) => {
    onFailed(error);
    stop();
  });
  const readiness = watchReady({
    ...ready,
    view: () => views()[0],
    onReady: (urls) => {
      failure?.end();
      report({ tunnel: views()[0]?.name ?? '', event: 'ready', urls });
      ready.print?.(urls[0] ?? '');
    },
  });
  return failure === undefined ? [readiness] : [readiness, failure];
}

/** Loaded only if it is on: a client without an inspector pays nothing for it. */
async function startInspecting(
  io: Io,
  { inspect, output }: LoopOptions,
  views: TunnelSet['views'],
): Promise<Inspector | undefined> {
  if (inspect === undefined) return undefined;
  const { startInspector } = await import('../inspect/inspector.ts');
  const inspected = () => views().map(({ name, urls, upstreams }) => ({ name, urls, upstreams }));
  return startInspector(io, inspect, inspected).catch((error: unknown) => {
    if (inspect.mayFail !== true || !(error instanceof ClientError)) throw error;
    output.warning(`no inspector: ${error.message}`);
    return undefined;
  });
}

/** The token goes to a terminal only: other readers of standard output may keep it. */
function inspectText(io: Io, json: boolean, { link }: Inspector): string {
  return isLive(io, json) ? `inspector: ${link}` : `${link.replace(/#.*/, '')} (open it with "underpass inspect --open")`;
}

interface StopOptions {
  readonly reload: LoopOptions['reload'];
  readonly onStart: (steering: Steering) => void;
}

function untilStopped(io: Io, tunnels: TunnelSet, display: Display, { reload, onStart }: StopOptions): Promise<number> {
  return new Promise((resolve) => {
    let draining = false;
    let stopping = false;
    const drain = () => {
      if (draining) return;
      draining = true;
      void tunnels.drain().then(() => finish(exitCodes.ok));
    };
    const stop = () => {
      if (stopping) return finish(exitCodes.forced);
      stopping = true;
      drain();
    };
    // One reload at a time: a slow one must not undo a later one.
    let reloads = Promise.resolve();
    const hangUp = () => {
      if (reload === undefined) return stop();
      reloads = reloads.then(() => (draining ? undefined : reloadTunnels(tunnels, display, reload, () => draining)));
    };
    // In `underpass http | tee log`, Ctrl-C ends the reader too, before or after this process hears it: that is not a second Ctrl-C.
    io.onReaderGone(drain);
    const off = [io.onSignal('SIGINT', stop), io.onSignal('SIGTERM', stop), io.onSignal('SIGHUP', hangUp)];
    const finish = (code: number) => {
      for (const forget of off) forget();
      resolve(code);
    };
    onStart({ views: tunnels.views, apply: (next) => void (draining || tunnels.apply(next)), stop: drain });
  });
}

/** Lets the tunnels go on unchanged if the file is invalid. */
async function reloadTunnels(
  tunnels: TunnelSet,
  display: Display,
  reload: NonNullable<LoopOptions['reload']>,
  isEnding: () => boolean,
): Promise<void> {
  try {
    const next = await reload();
    if (isEnding()) return;
    const { started, stopped, kept } = tunnels.apply(next);
    const names = (list: readonly string[]) => list.join(', ') || 'none';
    display.report({
      tunnel: '*',
      event: 'reloaded',
      text: `started ${names(started)}; stopped ${names(stopped)}; kept ${names(kept)}`,
    });
  } catch (error) {
    const { code, message } = error instanceof ClientError ? error : { code: 'unexpected', message: String(error) };
    display.report({ tunnel: '*', event: 'problem', code, text: `not reloaded, the tunnels are unchanged: ${message}` });
  }
}

interface Display {
  readonly report: (event: LogEvent) => void;
  readonly start: () => void;
  readonly stop: () => void;
}

export function isLive({ stdout, env }: Io, json: boolean): boolean {
  return stdout.isTTY && !json && env.TERM !== 'dumb';
}

/** What is shown, read when it is drawn. */
interface Shown {
  readonly views: TunnelSet['views'];
  readonly requests: () => readonly RequestView[];
}

function createDisplay(io: Io, json: boolean, shown: Shown): Display {
  return isLive(io, json) ? liveDisplay(io, shown) : lineDisplay(io, json, shown.views);
}

function liveDisplay(io: Io, { views, requests }: Shown): Display {
  const screen = createScreen(io.stdout);
  const color = !io.env.NO_COLOR;
  let note: string | undefined;
  const draw = () => {
    const size = { columns: io.stdout.columns(), rows: io.stdout.rows() };
    screen.show(renderLiveStatus(views(), { ...size, color, note, requests: requests() }));
  };
  const offResize = io.stdout.onResize(draw);
  let timer: NodeJS.Timeout | undefined;
  let giveKeys = () => {};
  return {
    report: (event) => {
      if (event.tunnel === '*') note = event.text;
      if (timer) draw();
    },
    start: () => {
      giveKeys = io.takeKeys({ onLeave: screen.close, onReturn: draw });
      timer = setInterval(draw, refreshMs);
      draw();
    },
    stop: () => {
      clearInterval(timer);
      offResize();
      if (timer) draw();
      timer = undefined;
      screen.close();
      giveKeys();
    },
  };
}

function lineDisplay(io: Io, json: boolean, views: TunnelSet['views']): Display {
  const report = (event: LogEvent) => io.stdout.write(renderLogLine(event, io.now(), json));
  let timer: NodeJS.Timeout | undefined;
  const seen = new Map<string, number>();
  const traffic = () => {
    for (const { name, totalStreams, rxBytes, txBytes } of views()) {
      if ((seen.get(name) ?? 0) === rxBytes + txBytes) continue;
      seen.set(name, rxBytes + txBytes);
      report({ tunnel: name, event: 'traffic', visits: totalStreams, requests: totalStreams, rxBytes, txBytes });
    }
  };
  return {
    report,
    start: () => {
      timer = setInterval(traffic, trafficLineMs);
    },
    stop: () => clearInterval(timer),
  };
}
