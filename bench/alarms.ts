// npm run alarms: Prometheus with the shipped alerts, whose durations are shorter, reads real processes. First healthy
// installations of each documented kind, on which no alert may fire; then one break after the other, each of which must fire its alert.
// Prints a table, and exits with 1 if an alert fired on a healthy installation or did not fire on its break. Needs root, for a disk that fills.
// Options: --minutes N of the healthy installations (0 leaves them out), --alerts A,B (all, unless given; - for none), --faster N.
import { readFile } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { parseArgs } from 'node:util';
import { eventually } from '@underpass/rules/test-kit.ts';
import { startUpstream } from '@underpass/tests/chaos/stage.ts';
import { keepVisiting } from '@underpass/tests/helpers/load.ts';
import { type Break, breaks, unbroken } from './alarms-breaks.ts';
import { startHealthy } from './alarms-healthy.ts';
import { breakOrders, orderAlerts } from './alarms-orders.ts';
import { rulesPath } from './alarms-prometheus.ts';
import { startAlarmStage, startClients } from './alarms-stage.ts';
import { type Alarm, renderAlarm, renderAlarms } from './core/alarms.ts';
import { sleep } from './scale-region.ts';

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    alerts: { type: 'string', default: '' },
    faster: { type: 'string', default: '30' },
  },
});
const factor = Number(options.faster);
/** Healthy processes may miss a scrape or two beside other work, so their rules wait longer than those of broken ones. */
const healthyShare = 3;
/** The longest is that of certificates: an hour, and a minute for which control keeps what it read. */
const firesWithinMs = (3_600_000 / factor + 60_000) * 1.5;
const calmWithinMs = 180_000;

const note = (text: string): void => void process.stderr.write(`${(performance.now() / 1_000).toFixed(0)} s ${text}\n`);

async function runBreaks(t: TestContext, wanted: (alert: string) => boolean): Promise<Alarm[]> {
  const stage = await startAlarmStage(t, factor);
  const upstream = await startUpstream(t);
  const clients = { running: await startClients(stage, upstream), upstream };
  const [tunnel] = stage.tunnels;
  keepVisiting(t, { host: tunnel?.host ?? '', port: stage.front.port, caPem: stage.caPem }, { pauseMs: 200 });
  const isCalm = (): Promise<ReadonlySet<string>> => eventually(stage.watcher.firing, (names) => names.size === 0, calmWithinMs);
  const alarms: Alarm[] = [];
  const runOne = async ({ alert, cause, run }: Break): Promise<void> => {
    // Figures of the time before the last break must not lie within the ranges of the rules.
    await isCalm();
    await sleep((900_000 / factor) * 1.2);
    note(`${alert}: ${cause}`);
    const brokeMs = performance.now();
    const mend = await run(stage);
    const seen = new Set<string>();
    const fired = await eventually(
      async () => {
        const names = await stage.watcher.firing();
        for (const each of names) seen.add(each);
        return names.has(alert);
      },
      (holds) => holds,
      firesWithinMs,
    ).catch(() => false);
    const alarm = {
      ...{ alert, cause, firedMs: fired ? performance.now() - brokeMs : null },
      others: [...seen].filter((each) => each !== alert).sort(),
    };
    alarms.push(alarm);
    note(renderAlarm(alarm));
    await mend();
  };
  for (const each of breaks(clients)) if (wanted(each.alert)) await runOne(each);
  return alarms;
}

async function run(t: TestContext): Promise<boolean> {
  const text = await readFile(rulesPath, 'utf8');
  const rules = [...text.matchAll(/- alert: (\w+)/g)].map(([, alert = '']) => ({ alert }));
  const asked = options.alerts.split(',');
  const wanted = (alert: string): boolean => unbroken[alert] === undefined && (options.alerts === '' || asked.includes(alert));
  const minutes = Number(options.minutes);
  const wrong = minutes > 0 ? await startHealthy(t, factor / healthyShare, minutes * 60_000, note) : [];
  const orders = orderAlerts.some(wanted) ? breakOrders(t, factor) : Promise.resolve([]);
  const alarms = rules.some(({ alert }) => wanted(alert)) ? [...(await runBreaks(t, wanted)), ...(await orders)] : [];
  const inOrder = rules.flatMap(({ alert }) => alarms.filter((each) => each.alert === alert));
  if (inOrder.length > 0) process.stdout.write(`${renderAlarms(inOrder)}\n`);
  const silent = rules.filter(
    ({ alert }) => wanted(alert) && !alarms.some((each) => each.alert === alert && each.firedMs !== null),
  );
  for (const [alert, why] of Object.entries(unbroken)) process.stdout.write(`not broken: ${alert}: ${why}\n`);
  for (const { alert } of silent) process.stdout.write(`did not fire: ${alert}\n`);
  for (const each of wrong) process.stdout.write(`on a healthy installation: ${each}\n`);
  return silent.length === 0 && wrong.length === 0;
}

const closers: (() => unknown)[] = [];
async function close(): Promise<void> {
  for (const each of closers.splice(0).reverse()) await each();
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void close().finally(() => process.exit(1)));
try {
  process.exitCode = (await run({ after: (each: () => unknown) => void closers.push(each) } as unknown as TestContext)) ? 0 : 1;
} finally {
  await close();
}
