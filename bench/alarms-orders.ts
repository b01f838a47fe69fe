// A server whose authority does not answer: its orders fail. Control waits minutes between two orders for a name, so this runs
// beside the other breaks, with Prometheus of its own.
import type { TestContext } from 'node:test';
import { eventually } from '@underpass/rules/test-kit.ts';
import { startNameServer } from '@underpass/tests/helpers/dns.ts';
import { freePorts } from '@underpass/tests/helpers/port.ts';
import { createRegion, startRegion } from '@underpass/tests/helpers/region.ts';
import { startPrometheus } from './alarms-prometheus.ts';
import type { Alarm } from './core/alarms.ts';

/** The alerts that this break makes fire. */
export const orderAlerts: readonly string[] = ['UnderpassCertificateOrdersFail', 'UnderpassCertificatesMissing'];

const regionCount = 4;
const firesWithinMs = 900_000;

export async function breakOrders(t: TestContext, factor: number): Promise<readonly Alarm[]> {
  const [metrics = 0, nobody = 0, https = 0] = await freePorts(3);
  const names = await startNameServer(t);
  const regions = Array.from({ length: regionCount }, (_, index) => `more-${index}`);
  for (const name of ['eu', ...regions]) names.set('A', `${name}.localhost`, '127.0.0.1');
  const region = await startRegion(t, https, {
    UNDERPASS_ACME_DIRECTORY: `https://localhost:${nobody}/dir`,
    UNDERPASS_DNS_SERVERS: names.address,
    UNDERPASS_METRICS_PORT: String(metrics),
  });
  const watcher = await startPrometheus(t, { control: metrics }, factor);
  const brokeMs = performance.now();
  for (const name of regions) await createRegion(region.account, name, https);
  const edge = await region.startEdge();
  const firedMs = new Map<string, number>();
  await eventually(
    async () => {
      for (const each of await watcher.firing()) if (!firedMs.has(each)) firedMs.set(each, performance.now() - brokeMs);
      return orderAlerts.every((each) => firedMs.has(each));
    },
    (holds) => holds,
    firesWithinMs,
  ).catch(() => {});
  await edge.process.end('SIGKILL');
  await region.control.end('SIGKILL');
  const cause = 'the ACME authority does not answer, with five regions';
  const others = [...firedMs.keys()].filter((each) => !orderAlerts.includes(each));
  return orderAlerts.map((alert) => ({ alert, cause, firedMs: firedMs.get(alert) ?? null, others }));
}
