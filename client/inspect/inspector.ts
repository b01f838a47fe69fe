// The inspector of a running client: the taps of its tunnels, the log, the port, and the file by which commands find it.

import type { ExchangeSummary, InspectedTunnel, InspectState } from '@underpass/rules/inspect/exchange.ts';
import type { OpenTap } from '../carry/tap.ts';
import type { UpstreamTrust } from '../carry/upstream-socket.ts';
import { readNamed } from '../process/bounded-file.ts';
import type { Io } from '../process/io.ts';
import { version } from '../process/version.ts';
import { Capture } from './capture.ts';
import { ExchangeLog, inspectLimits } from './exchange-log.ts';
import { createReplays } from './replay.ts';
import { removeRunFile, writeRunFile } from './run-file.ts';
import { checkPort, startInspectServer } from './server.ts';
import type { InspectSources } from './sources.ts';
import { summarize } from './view.ts';
import { createSignatureCheck, parseSecrets } from './webhook.ts';

interface TappedTunnel {
  readonly name: () => string;
  readonly trust: UpstreamTrust;
  readonly rttMs: () => number | null;
}

export interface Inspector {
  /** The page's address with the token in its fragment. */
  readonly link: string;
  readonly openTap: (tunnel: TappedTunnel) => OpenTap;
  /** The newest requests, newest last. */
  readonly latest: (count: number) => readonly ExchangeSummary[];
  readonly close: () => Promise<void>;
}

interface InspectorOptions {
  readonly port?: number | undefined;
  readonly secretFile?: string | undefined;
}

/** Throws for options that cannot work, before a tunnel is made. */
export async function checkInspector({ port, secretFile }: InspectorOptions): Promise<void> {
  if (secretFile !== undefined) await readSecrets(secretFile);
  if (port !== undefined) await checkPort(port);
}

export async function startInspector(
  io: Io,
  { port, secretFile }: InspectorOptions,
  tunnels: () => readonly InspectedTunnel[],
): Promise<Inspector> {
  const secrets = secretFile === undefined ? [] : await readSecrets(secretFile);
  const log = new ExchangeLog({ date: io.now, now: () => performance.now() });
  const replays = createReplays(log);
  const state = (): InspectState => ({
    version,
    tunnels: tunnels(),
    keptBytes: log.keptBytes,
    maxBytes: inspectLimits.bytes,
    dropped: log.droppedCount,
  });
  const sources: InspectSources = { log, replays, check: createSignatureCheck(secrets), state, version };
  const server = await startInspectServer(sources, port);
  const runFile = await writeRunFile(io, { port: server.port, token: server.token }).catch((error: unknown) => {
    server.close();
    throw error;
  });
  return {
    link: server.link,
    openTap: (tunnel) => openTapOf(log, tunnel),
    latest: (count) => log.latest(count).map((exchange) => summarize(exchange, () => null)),
    async close() {
      replays.close();
      server.close();
      await removeRunFile(runFile);
    },
  };
}

/** Status of the carriers costs more than a request does. */
const rttEveryMs = 1_000;

function openTapOf(log: ExchangeLog, { name, trust, rttMs }: TappedTunnel): OpenTap {
  let rtt: number | null = null;
  let readMs = Number.NEGATIVE_INFINITY;
  const recentRtt = (): number | null => {
    const now = log.clock.now();
    if (now - readMs < rttEveryMs) return rtt;
    readMs = now;
    rtt = rttMs();
    return rtt;
  };
  return ({ kind, visitorAddress, preface }, { upstream, sentHost, routes }) => {
    if (kind !== 'http') return null;
    const route = { upstream, trust, preface, sentHost, routes };
    return new Capture(log, { tunnel: name(), route, visitorAddress, replayOf: null, rttMs: recentRtt });
  };
}

/** Secrets are short; a few services have one each. */
const maxSecretBytes = 64 * 1024;

const readSecrets = async (path: string): Promise<readonly string[]> =>
  parseSecrets(await readNamed(path, maxSecretBytes, 'secret-file-unreadable'));
