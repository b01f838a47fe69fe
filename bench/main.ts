// npm run bench: measures every installed peer, interleaved by round; prints medians and ratios to the two-hop haproxy chain.
// With --tunnels 1000,100000, --clients 2000,5000 or --visitors 10000,20000 it measures one region of that size instead; with
// --distance, a long path; with --policy, what an access policy costs, in small requests and idle WebSockets; with --logs, what the
// visitor log and the access log cost.
// Options: --rounds N, --seconds N, --columns small,latency,connect,bulk,idle,stalled, --peers underpass,haproxy, --busy N,
// --congestion reno, --carries https,tcp. Options of --distance: --congestion reno,cubic,bbr, --round-trips 50,100, --losses 0,0.1,1,
// --cases page,bulk,api,spell,silence,visitors, --silence 60.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { movedToOwnNetwork } from '@underpass/tests/helpers/own-network.ts';
import { startBusyProcesses } from './busy.ts';
import { cases, parseCarries, parseDistance } from './core/distance.ts';
import { type Column, renderTable, type Sample } from './core/table.ts';
import { measureDistance } from './distance.ts';
import { measureLogs } from './logs.ts';
import { type Measurement, measurements } from './measurements.ts';
import { allowedCongestion, congestionInUse, requireCongestion, useCongestion } from './own-network.ts';
import { haproxyHttps, haproxyTcp } from './peers/haproxy.ts';
import { nginxHttps } from './peers/nginx.ts';
import { oneMachine, onPath, type Peer } from './peers/peer.ts';
import { piko } from './peers/piko.ts';
import { firstJson, start, stopAll } from './peers/processes.ts';
import { bore, chisel, frp, frpQuic, rathole, sshReverse } from './peers/tcp-tunnels.ts';
import { underpassHttps, underpassInspected, underpassTcp } from './peers/underpass.ts';
import { measurePolicy } from './policy.ts';
import { measureClients } from './scale-clients.ts';
import { measureTunnels } from './scale-tunnels.ts';
import { measureVisitors } from './scale-visitors.ts';

const everyPeer: readonly Peer[] = [
  underpassHttps,
  underpassInspected,
  haproxyHttps,
  underpassTcp,
  haproxyTcp,
  sshReverse,
  chisel,
  frp,
  rathole,
  bore,
  piko,
];
/** Peers that can have their client on another machine here. */
const farPeers: readonly Peer[] = [underpassHttps, haproxyHttps, underpassTcp, haproxyTcp, chisel, frp, frpQuic];
const visitorPeers: readonly Peer[] = [underpassHttps, haproxyHttps, nginxHttps];
const baseline = 'haproxy ×2';
const host = 'bench.localhost';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    columns: { type: 'string', default: measurements.map((measurement) => measurement.key).join(',') },
    peers: { type: 'string', default: '' },
    tunnels: { type: 'string', default: '' },
    clients: { type: 'string', default: '' },
    visitors: { type: 'string', default: '' },
    busy: { type: 'string', default: '0' },
    policy: { type: 'boolean', default: false },
    logs: { type: 'boolean', default: false },
    distance: { type: 'boolean', default: false },
    congestion: { type: 'string' },
    'round-trips': { type: 'string', default: '50,100' },
    losses: { type: 'string', default: '0,0.1,1' },
    cases: { type: 'string', default: cases.join(',') },
    carries: { type: 'string', default: 'https,tcp' },
    silence: { type: 'string', default: '60' },
  },
});
const numbersOf = (list: string): readonly number[] => (list === '' ? [] : list.split(',').map(Number));
const atScale = [options.tunnels, options.clients, options.visitors].some((sizes) => sizes !== '');
const distance = options.distance ? orExit(() => parseDistance(options, allowedCongestion())) : undefined;
const carried = orExit(() => parseCarries(options.carries));
const rounds = distance?.rounds ?? Number(options.rounds ?? 5);
const seconds = Number(options.seconds ?? 4);
const chosen = measurements.filter((measurement) => options.columns.split(',').includes(measurement.key));

const congestion = distance?.congestion ?? (options.congestion === undefined ? undefined : [options.congestion]);
if (congestion !== undefined) {
  orExit(() => requireCongestion(congestion));
  if (orExit(movedToOwnNetwork)) process.exit();
  if (distance === undefined) useCongestion(congestion[0] as string);
}

const busy = Number(options.busy);
const others = busy > 0 ? `, ${busy} other busy processes` : '';
const control = distance === undefined ? `, congestion control ${congestionInUse()}` : '';
const machine = `${cpus().length} cores (${cpus()[0]?.model.trim()})${others}${control}, Node ${process.version}, ${process.arch}`;
const folder = mkdtempSync(join(tmpdir(), 'underpass-bench-'));
const endBusyProcesses = startBusyProcesses(busy);
try {
  process.stdout.write(
    `# Underpass${!atScale ? ` beside its peers\n\n${rounds} rounds` : ' at scale\n\none region'}, ${machine}\n`,
  );
  await measureTunnels(numbersOf(options.tunnels));
  await measureClients(numbersOf(options.clients));
  await measureVisitors(numbersOf(options.visitors));
  if (options.policy) await measurePolicy({ folder, rounds, seconds, columns: options.columns.split(',') });
  else if (options.logs) await measureLogs(folder, rounds, seconds, host);
  else if (distance !== undefined)
    await measureDistance({
      options: distance,
      peers: farPeers.filter(runs),
      visitorPeers: distance.cases.includes('visitors') ? visitorPeers.filter(runs) : [],
      baseline,
      folder,
      host,
    });
  else if (!atScale) for (const carries of carried) await runGroup(carries);
} finally {
  endBusyProcesses();
  rmSync(folder, { recursive: true, force: true });
}

/** What the user asked for is not to be had: a line says why. */
function orExit<T>(attempt: () => T): T {
  try {
    return attempt();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(2);
  }
}

async function runGroup(carries: Peer['carries']): Promise<void> {
  const peers = everyPeer.filter((peer) => peer.carries === carries && runs(peer));
  const samples: Sample[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const peer of turned(peers, round)) samples.push(...(await runPeer(peer, round).catch((error) => noFigure(error))));
  }
  const title = carries === 'https' ? 'https: TLS ends at the edge' : 'tcp: bytes passed through';
  const columns = chosen.flatMap((measurement): readonly Column[] => measurement.columns(carries));
  process.stdout.write(
    `\n# ${title}\n\n${renderTable(samples, columns, [...new Set(peers.map((peer) => peer.name))], baseline)}\n`,
  );
}

function runs(peer: Peer): boolean {
  return wanted(peer) && atHand(peer);
}

function wanted(peer: Peer): boolean {
  const begins = (part: string): boolean => peer.name.startsWith(part) && !everyPeer.some(({ name }) => name === part);
  return options.peers === '' || options.peers.split(',').some((part) => peer.name === part || begins(part));
}

function atHand(peer: Peer): boolean {
  const missing = peer.needs.filter((name) => onPath(name) === undefined);
  if (missing.length > 0) process.stderr.write(`left out: ${peer.name} (${missing.join(', ')} not on PATH)\n`);
  return missing.length === 0;
}

/** Each round starts with another peer, so that the order favours none. */
function turned<T>(items: readonly T[], by: number): readonly T[] {
  const at = items.length === 0 ? 0 : by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
}

async function runPeer(peer: Peer, round: number): Promise<Sample[]> {
  const own = join(folder, `${peer.name.replace(/\W/g, '')}-${peer.carries}-${round}`);
  mkdirSync(own);
  const origin = start(process.execPath, [join(import.meta.dirname, 'origin.ts')]);
  try {
    const { port: originPort } = await firstJson<{ port: number }>(origin);
    const running = await peer.start({ ...oneMachine, originPort, folder: own, host });
    const samples: Sample[] = [];
    for (const measurement of chosen) samples.push(...(await attempt(measurement, peer, running)));
    return samples;
  } finally {
    await stopAll();
  }
}

async function attempt(measurement: Measurement, peer: Peer, running: Awaited<ReturnType<Peer['start']>>): Promise<Sample[]> {
  process.stderr.write(`${peer.name} (${peer.carries}): ${measurement.key}\n`);
  try {
    const found = await measurement.run({ running, host, seconds });
    process.stderr.write(
      `  ${Object.values(found)
        .map((value) => value.toPrecision(3))
        .join(', ')}\n`,
    );
    return Object.entries(found).map(([column, value]) => ({ peer: peer.name, column, value }));
  } catch (error) {
    return noFigure(error);
  }
}

function noFigure(error: unknown): Sample[] {
  process.stderr.write(`  no figure: ${error instanceof Error ? error.message : String(error)}\n`);
  return [];
}
