// npm run faults: two controls, four edges in two regions, Postgres, NATS and clients behind haproxy, with visitors and changes.
// Breaks one part after the other, and prints a table of what each fault cost. Exits with 1 if a request failed later than 2 s
// after a fault (10 s if an edge hangs), an acknowledged change was lost, a mail or order was done twice, or the edges differ from the database.
// Options: --rows kill-control,stop-edge (all, unless given), --down SECONDS of a killed part, --stopped SECONDS of a stopped one.
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { parseArgs } from 'node:util';
import { eventually } from '@underpass/rules/test-kit.ts';
import { startProcess } from '@underpass/tests/helpers/process.ts';
import { type Account, accountAt } from '@underpass/tests/helpers/product.ts';
import { costOf, countOnce, hungEdgeGraceMs, isGood, type Row, renderHead, renderRow } from './core/faults.ts';
import { type Changes, differingEdges, lostChanges, ordersByName, startChanges } from './faults-changes.ts';
import { type EdgePart, type FaultStage, type Part, startFaultStage } from './faults-stage.ts';
import { type Address, startTraffic, type Traffic } from './faults-traffic.ts';
import { sleep } from './scale-region.ts';

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '' },
    down: { type: 'string', default: '8' },
    stopped: { type: 'string', default: '25' },
  },
});
const downMs = Number(options.down) * 1_000;
const stoppedMs = Number(options.stopped) * 1_000;

/** Every request is of a new connection: 80 a second, one in three at an edge's own address. */
const requestEveryMs = 12.5;
const calmMs = 2_000;
/** A client finds its second edge at the latest after 35 s. */
const asBeforeWithinMs = 120_000;
/** Time in which a change reaches the edges of the other control without NATS: a minute. */
const equalWithinMs = 90_000;
/** Time in which another control takes over the mail of one that was killed: its lease must be over. */
const mailsWithinMs = 90_000;

interface Scene {
  readonly stage: FaultStage;
  readonly changes: Changes;
  /** Notes that something was ended now. */
  readonly broke: () => void;
}

interface Fault {
  readonly key: string;
  readonly title: string;
  /** What begins within this time may fail, if it is not the usual one. */
  readonly graceMs?: number;
  /** Breaks and mends; resolves once the parts run again. */
  readonly run: (scene: Scene) => Promise<void>;
}

async function awayWhile({ balancer }: FaultStage, part: Part, run: () => Promise<void>): Promise<void> {
  const edge = part as Partial<EdgePart>;
  edge.isAway = true;
  await run();
  await eventually(
    () => balancer.down(),
    (names) => !names.includes(part.name),
    asBeforeWithinMs,
  );
  // Its own visitors may have waited for it.
  await sleep(500);
  edge.isAway = false;
}

const killed = (key: string, title: string, partOf: (stage: FaultStage) => Part): Fault => ({
  ...{ key: `kill-${key}`, title: `\`kill -9\` of ${title}` },
  run: async ({ stage, broke }) => {
    const part = partOf(stage);
    await awayWhile(stage, part, async () => {
      broke();
      await part.process().end('SIGKILL');
      await sleep(downMs);
      await part.start();
    });
  },
});

const stopped = (key: string, title: string, partOf: (stage: FaultStage) => Part): Fault => ({
  ...{ key: `stop-${key}`, title: `SIGSTOP of ${title}, ${stoppedMs / 1_000} s` },
  run: async ({ stage, broke }) => {
    const part = partOf(stage);
    await awayWhile(stage, part, async () => {
      broke();
      part.process().child.kill('SIGSTOP');
      await sleep(stoppedMs);
      part.process().child.kill('SIGCONT');
    });
  },
});

const killedStore = (key: 'postgres' | 'nats', title: string): Fault => ({
  ...{ key: `kill-${key}`, title: `\`kill -9\` of ${title}` },
  run: async ({ stage, broke }) => {
    broke();
    await stage[key].kill();
    await sleep(downMs);
    await stage[key].start();
  },
});

const stoppedStore = (key: 'postgres' | 'nats', title: string): Fault => ({
  ...{ key: `stop-${key}`, title: `SIGSTOP of ${title}, ${stoppedMs / 1_000} s` },
  run: async ({ stage, broke }) => {
    broke();
    stage[key].signal('SIGSTOP');
    await sleep(stoppedMs);
    stage[key].signal('SIGCONT');
  },
});

const backOf = (stage: FaultStage): Promise<unknown> => eventually(stage.missing, (reason) => reason === null, asBeforeWithinMs);

/** Replaces a pod as the chart does: it leaves its Service, gets SIGTERM, and the next one follows once clients have moved. */
async function replace({ stage, broke }: Scene, part: Part): Promise<void> {
  await awayWhile(stage, part, async () => {
    await stage.balancer.set(part.name, 'drain');
    await sleep(1_000);
    broke();
    await part.process().end('SIGTERM');
    await part.start();
    await stage.balancer.set(part.name, 'ready');
  });
  await backOf(stage);
}

async function operate(t: TestContext, stage: FaultStage, ...args: readonly string[]): Promise<void> {
  const command = startProcess(t, ['server/main.ts', ...args], stage.env);
  await once(command.child, 'close');
  if (command.child.exitCode !== 0) throw new Error(`${args.join(' ')}: ${command.text()}`);
}

/** Docs/operations.md, Backup and restore: the backup under load, the restore into an empty database with control stopped. */
async function restore(t: TestContext, { stage, changes, broke }: Scene): Promise<void> {
  changes.endMails();
  await sleep(7_000);
  const moment = new Map(changes.acknowledged);
  const file = join(stage.region.home, `backup-${Date.now()}.jsonl`);
  await operate(t, stage, 'backup', file, '--database-only');
  await sleep(calmMs);
  broke();
  await Promise.all(stage.controls.map((control) => control.process().end('SIGTERM')));
  changes.forgetSince(moment);
  await writeFile(stage.databaseUrlFile, await stage.postgres.createDatabase());
  await operate(t, stage, 'restore', file);
  await Promise.all(stage.controls.map((control) => control.start()));
  changes.forgetSince(moment);
}

const allFaults = (t: TestContext): readonly Fault[] => [
  killed('control', 'a control', ({ controls }) => controls[0]),
  killed('edge', 'an edge', ({ edges }) => edges[0]!),
  killed('client', 'one client of two', ({ clients }) => clients[0]),
  killedStore('postgres', 'Postgres'),
  killedStore('nats', 'NATS'),
  stopped('control', 'a control', ({ controls }) => controls[1]),
  { ...stopped('edge', 'an edge', ({ edges }) => edges[1]!), graceMs: hungEdgeGraceMs },
  stopped('client', 'one client of two', ({ clients }) => clients[1]),
  stoppedStore('postgres', 'Postgres'),
  stoppedStore('nats', 'NATS'),
  {
    ...{ key: 'roll', title: 'rolling restart of controls, edges and clients' },
    run: async (scene) => {
      const { controls, edges, clients } = scene.stage;
      for (const part of [...controls, ...edges.filter(({ region }) => region === 'eu'), ...clients]) await replace(scene, part);
    },
  },
  killed('region', 'the other region, which has one edge', ({ edges }) => edges[3]!),
  { ...{ key: 'restore', title: 'restore of Postgres from a backup' }, run: (scene) => restore(t, scene) },
];

const problems: string[] = [];

/** Addresses of the balancer, in turns with those of the near region's edges. The far region counts unless it is the fault. */
function addressesOf({ tunnels, farTunnel, ingressTunnel, ports, edges, doorOf }: FaultStage): readonly Address[] {
  const near = edges.filter(({ region }) => region === 'eu');
  const far = edges.find(({ region }) => region === 'us');
  const ingress: Address = { way: 'through', door: doorOf(ingressTunnel, ports.eu), isAway: () => false };
  const addresses = tunnels.flatMap((tunnel, at): readonly Address[] => {
    const through: Address = { way: 'through', door: doorOf(tunnel, ports.eu), isAway: () => false };
    const edge = near[at % near.length]!;
    const own: Address = { way: 'address', door: doorOf(tunnel, edge.edge.port), isAway: () => edge.isAway };
    const away: Address = { way: 'through', door: doorOf(farTunnel, ports.us), isAway: () => far?.isAway === true };
    return at % 2 === 0 ? [through, own, through] : [through, own, away];
  });
  return [...addresses, ingress, ingress];
}

/** Each row has a project of its own: control orders only 40 certificates a day for one, and 80 for its owner. */
async function inOwnProject(owner: Account, name: string): Promise<Account> {
  const { status, body } = await owner.call<{ id: string }>('POST', '/api/projects', { name });
  if (status !== 200) throw new Error(`project ${name}: ${status} ${JSON.stringify(body)}`);
  return { ...owner, project: body.id };
}

async function runRow(stage: FaultStage, traffic: Traffic, owner: Account, fault: Fault): Promise<[Changes, Row]> {
  const note = (text: string): void => void process.stderr.write(`  ${(performance.now() / 1_000).toFixed(1)} ${text}\n`);
  process.stderr.write(`${fault.title}\n`);
  const account = await inOwnProject(owner, fault.key);
  const changes = await startChanges(stage, fault.key, account, note);
  await sleep(calmMs);
  traffic.take();
  const faultsMs: number[] = [];
  const broke = (): void => {
    note('fault');
    faultsMs.push(performance.now());
  };
  await fault.run({ stage, changes, broke });
  const mendedMs = performance.now();
  const asBeforeMs = await backOf(stage).then(
    () => performance.now() - mendedMs,
    (error: Error) => {
      note(error.message);
      return null;
    },
  );
  await sleep(calmMs);
  const { visits, socketsCut, socketsRefused } = traffic.take();
  await changes.stop();
  const lost = await lostChanges(changes, account);
  for (const each of lost) note(`lost: ${each}`);
  const differing = await eventually(
    () => differingEdges(stage),
    (names) => names.length === 0,
    equalWithinMs,
  ).catch((error: Error) => [error.message]);
  for (const each of differing) note(`differs: ${each}`);
  const none = { asked: 0, once: 0, more: 0 };
  const row: Row = {
    fault: fault.title,
    through: costOf(
      visits.filter(({ way }) => way === 'through'),
      faultsMs,
      fault.graceMs,
    ),
    address: costOf(
      visits.filter(({ way }) => way === 'address'),
      faultsMs,
      fault.graceMs,
    ),
    sockets: { cut: socketsCut, failedLater: costOf(socketsRefused, faultsMs).failedLater },
    changes: { ...changes.counts, lost: lost.length },
    ...{ asBeforeMs, routesEqual: differing.length === 0, mails: none, orders: none },
  };
  return [changes, row];
}

async function run(t: TestContext): Promise<boolean> {
  const faults = allFaults(t).filter(({ key }) => options.rows === '' || options.rows.split(',').includes(key));
  const stage = await startFaultStage(t);
  const { region, ports } = stage;
  const account = accountAt(region.account, `http://localhost:${region.controlPort}`, `http://localhost:${ports.control}`);
  const note = (text: string): void => {
    problems.push(`${(performance.now() / 1_000).toFixed(1)} ${text}`);
  };
  const socketDoors = stage.tunnels.map((tunnel) => stage.doorOf(tunnel, ports.eu));
  const traffic = startTraffic(t, addressesOf(stage), requestEveryMs, socketDoors, note);
  await sleep(calmMs);
  const results: [Changes, Row][] = [];
  for (const fault of faults) {
    const result = await runRow(stage, traffic, account, fault);
    results.push(result);
    for (const text of problems.splice(0).slice(0, 40)) process.stderr.write(`  ${text}\n`);
    process.stderr.write(`${renderRow(result[1])}\n`);
  }
  traffic.stop();
  return report(stage, results);
}

/** The last mails may wait for a lease, so they are counted at the end. */
async function report(stage: FaultStage, results: readonly [Changes, Row][]): Promise<boolean> {
  const isMailed = (): boolean => results.every(([{ mailed }]) => mailed.every((each) => stage.mails.has(each)));
  await eventually(isMailed, (all) => all, mailsWithinMs).catch(() => {});
  const orders = await ordersByName(stage);
  const rows = results.map(([{ mailed, hosts }, row]) => ({
    ...row,
    mails: countOnce(mailed, stage.mails),
    orders: countOnce(hosts, orders),
  }));
  process.stdout.write(`\n${renderHead()}\n${rows.map(renderRow).join('\n')}\n`);
  return rows.every(isGood);
}

const closers: (() => unknown)[] = [];
async function close(): Promise<void> {
  for (const each of closers.splice(0).reverse()) await each();
}
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    process.stderr.write(`  ${(performance.now() / 1_000).toFixed(1)} the run was ended by ${signal}\n`);
    void close().finally(() => process.exit(1));
  });
try {
  process.exitCode = (await run({ after: (each: () => unknown) => void closers.push(each) } as unknown as TestContext)) ? 0 : 1;
} finally {
  await close();
}
