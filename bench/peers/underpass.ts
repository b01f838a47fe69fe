// Underpass as its users run it: an edge process and the `underpass` command, with every feature on.
import { createHash, randomBytes, X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { footprintOf } from '@underpass/tests/helpers/footprint.ts';
import { weighable, weighed } from '@underpass/tests/helpers/process.ts';
import type { FeedVisit, FeedVisitorLog } from '@underpass/wire/feed/feed.ts';
import { makeCertificate, type Peer, type Running, type Setup } from './peer.ts';
import { firstJson, start } from './processes.ts';

/** A compiled client to measure instead of the source. */
const clientProgram = process.env.BENCH_CLIENT;
const clientMain = join(import.meta.dirname, '../../client/main.ts');
const edgeMain = join(import.meta.dirname, '../underpass-edge.ts');

/** What the edge is told of a tunnel. */
export interface Tunnel {
  readonly host: string;
  readonly tokenHash: string;
  readonly visit: FeedVisit | undefined;
  readonly visitorLog?: FeedVisitorLog;
}

/** A client gives back what its start left behind after 10 s, and pages of the program a second later (client/tunnels/idle-memory.ts). */
const clientSettlesMs = 12_000;

interface TunnelSetup {
  readonly host: string;
  readonly visit?: FeedVisit;
  readonly options?: readonly string[];
  readonly visitorLog?: boolean;
  /** The edge writes an access log. */
  readonly accessLog?: boolean;
}

/** One edge, and one client for each tunnel. */
export async function startTunnels(setup: Setup, carries: Peer['carries'], tunnels: readonly TunnelSetup[]): Promise<Running[]> {
  const isHttp = carries === 'https';
  const { folder, regionHost, edgeAddress: address } = setup;
  const { certificate } = makeCertificate(folder, regionHost, ...tunnels.map(({ host }) => host));
  const tokens = tunnels.map(() => randomBytes(32).toString('base64url'));
  const edgeTunnels = tunnels.map(
    ({ host, visit, visitorLog }, at): Tunnel => ({
      host,
      tokenHash: hashOf(tokens[at] as string),
      visit,
      ...(visitorLog ? { visitorLog: { address: 'full', query: true } } : {}),
    }),
  );
  const accessLog = tunnels.some((tunnel) => tunnel.accessLog) ? join(folder, 'access.log') : undefined;
  const argument = { accessLog, folder, address, regionHost, type: isHttp ? 'http' : 'ingress', tunnels: edgeTunnels };
  const edge = start(process.execPath, weighable([edgeMain, JSON.stringify(argument)]), weighed);
  const ports = await firstJson<{ https: number; http: number }>(edge);
  const authority = hashOf(new X509Certificate(readFileSync(certificate)).raw);
  const url = `https://${regionHost}:${ports.https}#ca=${authority}`;
  const port = isHttp || setup.originTls ? ports.https : ports.http;
  const startClient = async ({ options = [] }: TunnelSetup, at: number): Promise<Running> => {
    const tokenFile = join(folder, `token-${at}`);
    writeFileSync(tokenFile, tokens[at] as string, { mode: 0o600 });
    const [program = '', ...first] = clientProgram === undefined ? [process.execPath, clientMain] : [clientProgram];
    const carried = carriedBy(isHttp, `127.0.0.1:${setup.originPort}`);
    const client = setup.startAtClient(program, [...first, ...carried, ...options, '--url', url, '--token-file', tokenFile]);
    const startedMs = performance.now();
    await connected(client.child.stdout);
    const settle = async (): Promise<void> => {
      await footprintOf(edge);
      await sleep(Math.max(0, startedMs + clientSettlesMs - performance.now()));
    };
    return { address, port, tls: isHttp, edgeSide: [edge], clientSide: [client], settle };
  };
  return Promise.all(tunnels.map(startClient));
}

const hashOf = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');

const carriedBy = (isHttp: boolean, upstream: string): readonly string[] =>
  isHttp
    ? ['http', '--upstream', `http://${upstream}`]
    : ['ingress', '--upstream', `80=${upstream}`, '--upstream', `443=${upstream}`];

async function startUnderpass(setup: Setup, carries: Peer['carries'], options: readonly string[] = []): Promise<Running> {
  const [running] = await startTunnels(setup, carries, [{ host: setup.host, options }]);
  return running as Running;
}

function connected(lines: NodeJS.ReadableStream | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the client did not connect')), 15_000);
    lines?.on('data', (data: Buffer) => {
      if (!/connected/i.test(data.toString())) return;
      clearTimeout(timer);
      resolve();
    });
  });
}

const needs = ['openssl'];
export const underpassHttps: Peer = {
  name: 'underpass',
  carries: 'https',
  needs,
  start: (setup) => startUnderpass(setup, 'https'),
};
/** A client with the inspector on and no page open. */
export const underpassInspected: Peer = {
  name: 'underpass, inspected',
  carries: 'https',
  needs,
  start: (setup) => startUnderpass(setup, 'https', ['--inspect']),
};
export const underpassTcp: Peer = { name: 'underpass', carries: 'tcp', needs, start: (setup) => startUnderpass(setup, 'tcp') };
