// Starts the edge of this process. In role all its feed stays in memory; in role edge it connects to control.

import { availableParallelism } from 'node:os';
import type { Duplex } from 'node:stream';
import { createEdge, type Edge, type EdgeOptions, type Legacy } from '@underpass/edge/edge.ts';
import { lineFileError } from '@underpass/edge/process/line-file.ts';
import type { Logger } from 'pino';
import { ServerError } from '../process/error.ts';
import { software } from '../process/version.ts';
import { type Settings, settingTable } from '../settings/settings.ts';
import { keepEdgeId, openHome } from '../state/home.ts';
import { portError } from './listen.ts';

/** Only Linux lets several processes share a port. */
function workersOf({ edgeWorkers }: Settings): number {
  if (process.platform !== 'linux') return 1;
  return edgeWorkers === 0 ? availableParallelism() : edgeWorkers;
}

function hopOf({ hopPort: port, hopAddress: address, hopSecret, edgeKey, listen: host }: Settings): Pick<EdgeOptions, 'hop'> {
  const secret = hopSecret ?? edgeKey;
  if (port === undefined || address === undefined || secret === undefined) return {};
  return { hop: { listen: { host, port }, address, secret } };
}

/** The metrics port, which the edge serves in role edge. In role all, control serves it for both (metrics-door.ts). */
function metricsOf({ role, metricsPort: port, metricsListen: host }: Settings): Pick<EdgeOptions, 'metrics'> {
  return role === 'edge' && port !== undefined ? { metrics: { host, port } } : {};
}

function connectionLimitsOf({
  edgeConnections: total,
  edgeConnectionsPerAddress: perAddress,
}: Settings): Pick<EdgeOptions, 'connectionLimits'> {
  return { connectionLimits: { ...(total === undefined ? {} : { total }), ...(perAddress === undefined ? {} : { perAddress }) } };
}

function accessLogOf({ accessLog: path, accessLogFormat: format }: Settings): Pick<EdgeOptions, 'accessLog'> {
  return path === undefined ? {} : { accessLog: { path, format } };
}

function otlpOf({ otlpUrl: url, otlpHeaders: headers = {}, otlpRequests: requests }: Settings): Pick<EdgeOptions, 'otlp'> {
  return url === undefined ? {} : { otlp: { url, headers, requests } };
}

/** The settings that name this port; all port settings if the error of the system names no port. */
function portSettingOf(settings: Settings, port: number | undefined): string {
  const rows = [settingTable.edgeHttpsPort, settingTable.edgeHttpPort, settingTable.hopPort, settingTable.metricsPort];
  const values = [settings.edgeHttpsPort, settings.edgeHttpPort, settings.hopPort, settings.metricsPort];
  const meant = rows.filter((_, at) => port !== undefined && values[at] === port);
  return (meant.length === 0 ? rows : meant).map(({ name }) => name).join(' or ');
}

/**
 * `consolePath`: the socket where control accepts visitors of the dashboard, if this edge serves it. `legacy`: of the process before
 * this one.
 */
export async function openEdge(
  settings: Settings,
  feed: () => Promise<Duplex>,
  log: Logger,
  consolePath?: string,
  legacy?: Legacy,
): Promise<Edge> {
  const home = await openHome(settings.home);
  const { region, listen: host, edgeHttpsPort, edgeHttpPort, publicHttpsPort, trustedBalancers: balancers } = settings;
  try {
    return await createEdge({
      ...{ region, software, publicHttpsPort, balancers, home, feed, log, legacy },
      ...hopOf(settings),
      ...metricsOf(settings),
      ...connectionLimitsOf(settings),
      ...accessLogOf(settings),
      ...otlpOf(settings),
      ...(consolePath === undefined ? {} : { dashboard: { host: new URL(settings.origin).hostname, path: consolePath } }),
      edgeId: settings.edgeId ?? (await keepEdgeId(home)),
      regionHosts: [settings.dataPlaneHost],
      https: { host, port: edgeHttpsPort },
      http: { host, port: edgeHttpPort },
      tcpPorts: settings.tcpPorts,
      workers: workersOf(settings),
      timeouts: { responseMs: settings.answerSeconds * 1_000 },
    });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === lineFileError) throw new ServerError('access-log-unusable', message, { cause: error });
    throw portError(error, (port) => portSettingOf(settings, port));
  }
}
