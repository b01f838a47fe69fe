// What an access policy costs. CPU: one edge with a tunnel for each way, loaded in short turns, so noise affects all alike.
// Memory: what each further idle WebSocket adds, at a fresh edge for each way. One way has no policy and as many bytes, in an
// ordinary cookie.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { VisitorClaims } from '@underpass/rules/visit/grants.ts';
import { footprintOf } from '@underpass/tests/helpers/footprint.ts';
import type { FeedVisit } from '@underpass/wire/feed/feed.ts';
import { signVisit } from '@underpass/wire/ticket/signed-visit.ts';
import { medianOf, type Sample } from './core/table.ts';
import { load, type On, openIdle, pidsOf } from './measurements.ts';
import { oneMachine, type Running } from './peers/peer.ts';
import { cpuSeconds, firstJson, residentBytes, type Started, start, stopAll } from './peers/processes.ts';
import { startTunnels } from './peers/underpass.ts';

/** Visitors with a session of their own: as many as there are idle WebSockets in one wave. */
const visitors = 5_000;
/** Turns until the edge's code is compiled. */
export const warmTurns = 6;
/** Each way has a tunnel and a client of its own, so that none of the clients is warmer or busier than the others. */
const [openHost, bytesHost, guardedHost] = ['open.localhost', 'bytes.localhost', 'guarded.localhost'];
const hosts: readonly string[] = [openHost, bytesHost, guardedHost];

interface Options {
  readonly folder: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly columns: readonly string[];
}

interface Way {
  readonly name: string;
  readonly host: string;
  readonly cookieFile?: string;
}

export async function measurePolicy({ folder, rounds, seconds, columns }: Options): Promise<void> {
  const visitKey = randomBytes(32);
  const visit = visitOf(visitKey);
  const cookieFile = join(folder, 'sessions');
  writeFileSync(cookieFile, cookiesOf(visitKey, '__Host-underpass-access'), { mode: 0o600 });
  const ordinaryFile = join(folder, 'ordinary');
  writeFileSync(ordinaryFile, cookiesOf(randomBytes(32), '__Host-an-ordinary-name'));
  const ways: readonly Way[] = [
    { name: 'without', host: openHost },
    { name: 'as many bytes', host: bytesHost, cookieFile: ordinaryFile },
    { name: 'access policy', host: guardedHost, cookieFile },
  ];
  const tunnels = hosts.map((host) => (host === guardedHost ? { host, visit } : { host }));
  const startEdge = async (name: string): Promise<Running[]> => {
    const own = join(folder, name);
    mkdirSync(own);
    const origin = start(process.execPath, [join(import.meta.dirname, 'origin.ts')]);
    const { port: originPort } = await firstJson<{ port: number }>(origin);
    return startTunnels({ ...oneMachine, originPort, folder: own, host: openHost }, 'https', tunnels);
  };
  const onOf = (way: Way, running: readonly Running[]): On => {
    const own = running[hosts.indexOf(way.host)] as Running;
    return { host: way.host, seconds, running: way.cookieFile === undefined ? own : { ...own, cookieFile: way.cookieFile } };
  };

  if (columns.includes('small')) {
    const running = await startEdge('small');
    const loaded = ways.map((way) => {
      const on = onOf(way, running);
      return { way, on, asking: load(on, 'turns', { connections: 64 }) };
    });
    const samples: Sample[] = [];
    for (let round = -warmTurns; round < rounds; round++) {
      for (const { way, on, asking } of turned(loaded, round)) {
        const value = await turnOf(on, asking);
        if (round >= 0) samples.push({ peer: way.name, column: 'CPU per small request, µs', value });
      }
    }
    await stopAll();
    print(samples);
  }

  if (columns.includes('idle')) {
    const samples: Sample[] = [];
    for (let round = 0; round < rounds; round++) {
      for (const way of turned(ways, round)) {
        const found = await idleOf(onOf(way, await startEdge(`${way.name} ${round}`)));
        for (const [column, value] of Object.entries(found)) samples.push({ peer: way.name, column, value });
        await stopAll();
      }
    }
    print(samples);
  }
}

export const turned = <T>(items: readonly T[], by: number): readonly T[] =>
  items.map((_, at) => items[(at + by + warmTurns) % items.length] as T);

/** Microseconds of CPU per request, edge and client. */
export async function turnOf({ running }: On, asking: Started): Promise<number> {
  const before = cpuSeconds(pidsOf(running));
  const answer = firstJson<{ count: number }>(asking, 60_000);
  asking.child.stdin?.write('\n');
  const { count } = await answer;
  return ((cpuSeconds(pidsOf(running)) - before) / count) * 1e6;
}

/**
 * The first wave pays for what an edge needs once: compiled code, and the sessions that it keeps for new connections. Both figures
 * are read after a collection, because V8's young generation is as large as the last seconds made it.
 */
async function idleOf(on: On): Promise<Record<string, number>> {
  const [edge] = on.running.edgeSide as [Started];
  const waves: Started[] = [];
  const nextWave = async (): Promise<{ resident: number; held: number }> => {
    waves.push(await openIdle(on, visitors));
    const { bytes: held } = await footprintOf(edge);
    return { resident: residentBytes([edge.pid]), held };
  };
  const first = await nextWave();
  const second = await nextWave();
  for (const wave of waves) await wave.stop();
  const each = (key: 'resident' | 'held'): number => (second[key] - first[key]) / 1000 / visitors;
  return { 'idle WebSocket at the edge, kB resident': each('resident'), 'heap and buffers, kB': each('held') };
}

/** Ratios compare the turns of one round, and the quartiles show how they scatter. */
export function print(samples: readonly Sample[]): void {
  for (const column of new Set(samples.map((sample) => sample.column))) {
    const valuesOf = (name: string) => samples.filter((s) => s.peer === name && s.column === column).map(({ value }) => value);
    process.stdout.write(`\n| ${column} | median | ratio, quartiles |\n| --- | ---: | ---: |\n`);
    for (const name of new Set(samples.map((sample) => sample.peer))) {
      const base = valuesOf('without');
      const ratios = valuesOf(name).map((value, round) => value / (base[round] as number));
      const [low, middle, high] = quartilesOf(ratios);
      process.stdout.write(`| ${name} | ${medianOf(samples, name, column).toFixed(2)} | ${middle} (${low} to ${high}) |\n`);
    }
  }
}

function quartilesOf(values: readonly number[]): readonly string[] {
  const sorted = [...values].sort((a, b) => a - b);
  return [0.25, 0.5, 0.75].map((share) => (sorted[Math.round(share * (sorted.length - 1))] as number).toFixed(3));
}

function cookiesOf(visitKey: Buffer, name: string): string {
  const expiresAtMs = Date.now() + 86_400_000;
  const cookies = Array.from({ length: visitors }, (_, index) => {
    const email = `visitor-${index}@example.com`;
    const who = { method: 'email', subject: email, email, groups: [], source: '' } as const;
    const claims: VisitorClaims = { ...who, signedInAtMs: Date.now(), expiresAtMs };
    return `${name}=${signVisit(visitKey, 'session', guardedHost, { claims, untilMs: expiresAtMs })}`;
  });
  return cookies.join('\n');
}

const visitOf = (visitKey: Buffer): FeedVisit => ({
  policyId: 'policy',
  allowList: ['0.0.0.0/0', '::/0'],
  sealKey: visitKey.toString('base64url'),
  assertionKeyPem: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  }) as string,
  assertionKeyId: 'key',
  origin: 'https://control.localhost',
  rules: [
    { path: '/public/*', action: 'public' },
    { path: '/admin/*', action: 'deny' },
  ],
  grants: {
    memberIds: null,
    people: ['*@example.com'],
    provider: null,
    passwordId: null,
    links: [],
    validFromMs: 0,
    signedOut: [],
  },
  tokens: [],
  tokenHeader: 'authorization',
});
