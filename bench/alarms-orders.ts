// A server whose authority does not answer: its orders fail. Control waits minutes between two orders for a name, so this runs
// beside the other breaks, with Prometheus of its own.
import type { TestContext } from 'node:test';
import { startNameServer } from '@underpass/tests/helpers/dns.ts';
import { eventually } from '@underpass/tests/helpers/load.ts';
import { freePorts } from '@underpass/tests/helpers/port.ts';
import { createRegion, startRegion } from '@underpass/tests/helpers/region.ts';
import { startPrometheus } from './alarms-prometheus.ts';
import type { Alarm } from './core/alarms.ts';

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
  const alert = 'UnderpassCertificateOrdersFail';
  const seen = new Set<string>();
  const fired = await eventually(
    async () => {
      const firing = await watcher.firing();
      for (const each of firing) seen.add(each);
      return firing.has(alert);
    },
    (holds) => holds,
    firesWithinMs,
  ).catch(() => false);
  const firedMs = fired ? performance.now() - brokeMs : null;
  await edge.process.end('SIGKILL');
  await region.control.end('SIGKILL');
  const cause = 'the ACME authority does not answer, with five regions';
  return [{ alert, cause, firedMs, others: [...seen].filter((each) => each !== alert).sort() }];
}
