// The figures of an owner in the real Prometheus: a project's API token scrapes them, they are the same after a restart of the whole
// server, and every query of the example dashboard finds a series.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventually } from '@underpass/rules/test-kit.ts';
import { connectClient, makeTunnel } from '../helpers/dashboard.ts';
import { freePorts } from '../helpers/port.ts';
import { startProgram, temporaryHome } from '../helpers/process.ts';
import { type Product, startProduct } from '../helpers/product.ts';
import { requireTool, skipWithout } from '../helpers/tool.ts';
import { visit } from '../helpers/visitor.ts';

async function startUpstream(t: TestContext): Promise<string> {
  const server = createServer(({ url }, response) => response.writeHead(url === '/missing' ? 404 : 200).end('hello'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Prometheus as docs/figures.md configures it, every second. Returns what answers a query. */
async function startPrometheus(t: TestContext, product: Product, project: string, token: string) {
  const folder = await temporaryHome(t);
  const [port = 0] = await freePorts(1);
  await writeFile(join(folder, 'token'), token, { mode: 0o600 });
  const page = await readFile(new URL('../../docs/figures.md', import.meta.url), 'utf8');
  const config = /```yaml\n([\s\S]*?)```/
    .exec(page)![1]!
    .replace('scheme: https', 'scheme: http')
    .replace('THE-PROJECT', project)
    .replace('/etc/prometheus/underpass-token', join(folder, 'token'))
    .replace('underpass.example.com', new URL(product.origin).host)
    .replace('30s', '1s');
  await writeFile(join(folder, 'prometheus.yaml'), `global: { scrape_timeout: 1s }\n${config}`);
  const flags = [`--config.file=${join(folder, 'prometheus.yaml')}`, `--storage.tsdb.path=${join(folder, 'data')}`];
  await startProgram(t, requireTool('prometheus'), [...flags, `--web.listen-address=127.0.0.1:${port}`]).listening(port);
  return async (
    query: string,
  ): Promise<readonly { readonly metric: Readonly<Record<string, string>>; readonly value: number }[]> => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(query)}`);
    // It says so until it is ready.
    if (answer.status === 503) return [];
    const { data, error } = (await answer.json()) as {
      data?: { result: { metric: Record<string, string>; value: [number, string] }[] };
      error?: string;
    };
    assert.equal(error, undefined, query);
    return data!.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
  };
}

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
}

test('figures in Prometheus', { skip: skipWithout('prometheus', 'promtool') }, async (t) => {
  const upstream = await startUpstream(t);
  const first = await startProduct(t);
  const account = await first.signIn();
  const tunnel = await makeTunnel(account, 'shop');
  const token = await first.createApiToken(account, 'viewer');
  await connectClient(t, tunnel, upstream);
  const door = { port: first.ports.https, host: tunnel.ingressDomains[0]!.name, caPem: first.caPem };
  for (const path of ['/', '/', '/missing']) await visit(door, path);
  // A clean stop writes the running minute.
  await first.stop();
  const second = await startProduct(t, { env: first.env });

  await t.test('are what promtool takes, without a complaint', async () => {
    const address = `${second.origin}/api/metrics?project=${account.project}`;
    const answer = await fetch(address, { headers: { authorization: `Bearer ${token}` } });
    const input = await answer.text();
    const { status, stdout, stderr } = spawnSync(requireTool('promtool'), ['check', 'metrics'], { input, encoding: 'utf8' });
    assert.deepEqual([answer.status, status, stdout, stderr], [200, 0, '', '']);
  });

  await t.test('are scraped with an API token, and are there after a restart of the server', async (t) => {
    const query = await startPrometheus(t, second, account.project, token);
    // On a busy machine a scrape may take longer than a second. Then no series is there until the next one.
    const firstOf = async (expr: string) =>
      (
        await eventually(
          () => query(expr),
          ({ length }) => length > 0,
        )
      )[0];
    assert.equal((await firstOf('underpass_tunnel_requests_total{status="2xx"}'))?.value, 2);
    const missing = await firstOf('underpass_tunnel_requests_total{status="4xx"}');
    assert.deepEqual([missing?.value, missing?.metric.tunnel, missing?.metric.region], [1, 'shop', 'local']);
    assert.equal((await firstOf('underpass_tunnel_first_byte_seconds_count'))?.value, 3);
    const median = await firstOf('histogram_quantile(0.5, underpass_tunnel_first_byte_seconds_bucket)');
    assert.ok(median!.value > 0 && median!.value < 10, `${median?.value} s`);

    const text = await readFile(new URL('../../deploy/monitoring/grafana-tunnels.json', import.meta.url), 'utf8');
    const { panels } = JSON.parse(text) as Dashboard;
    const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    assert.ok(queries.length > 8);
    // Grafana fills in these: a rate needs two scrapes.
    const filled = queries.map((expr) => expr.replaceAll('$tunnel', '.*').replaceAll('$__rate_interval', '1m'));
    for (const expr of filled) await firstOf(expr);
  });
  // Its home goes with the first one.
  await second.stop();
});
