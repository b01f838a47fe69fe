// The export of a whole edge to a collector that works, fails, refuses, redirects or hangs. tests/e2e/otlp.test.ts has a real one.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it, type TestContext } from 'node:test';
import { eventually } from '@underpass/rules/test-kit.ts';
import { pino } from 'pino';
import { createRig, type Rig, readAll, tunnelOf } from '../fixture/rig.ts';
import { OtlpExport, type OtlpOptions } from './otlp-export.ts';

const host = 'shop.tunnels.test';

// biome-ignore lint/suspicious/noExplicitAny: a body is looked at from many sides
type Json = any;

interface Posted {
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Json;
}

type Answer = (response: ServerResponse) => void;

async function startCollector(t: TestContext, answer: Answer = (response) => void response.end('{}')) {
  const posted: Posted[] = [];
  const collector = { posted, answer, url: '' };
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    posted.push({ url: request.url!, headers: request.headers, body: JSON.parse(Buffer.concat(parts).toString()) });
    collector.answer(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  collector.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return collector;
}

const optionsOf = (url: string, requests = true): OtlpOptions => ({ url, headers: { authorization: 'Bearer sesame' }, requests });

async function startEdge(t: TestContext, otlp: OtlpOptions, workers = 1): Promise<Rig> {
  const tunnels = [tunnelOf('shop', { projectId: 'p1' }), tunnelOf('quiet')];
  const rig = await createRig(tunnels, { otlp, workers });
  t.after(() => rig[Symbol.asyncDispose]());
  await rig.client(
    'shop',
    createServer(({ url }, response) => response.writeHead(url?.startsWith('/no') ? 404 : 200).end('hello')),
  );
  return rig;
}

async function visit(rig: Rig, path: string, fields = ''): Promise<void> {
  const visitor = await rig.visit(host);
  visitor.end(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${fields}Connection: close\r\n\r\n`);
  await readAll(visitor);
}

const textOf = (attributes: readonly { key: string; value: Record<string, string> }[]): Record<string, string> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, String(Object.values(value)[0])]));

for (const workers of [1, 2])
  it(`sends figures and records of requests before it ends, with ${workers} workers`, async (t) => {
    const collector = await startCollector(t);
    const rig = await startEdge(t, optionsOf(collector.url), workers);
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
    await visit(rig, '/cart?item=1', `User-Agent: curl/8\r\ntraceparent: 00-${trace}-00f067aa0ba902b7-01\r\n`);
    await visit(rig, '/nothing');
    await rig.edge.drain(10_000);
    const records = collector.posted
      .filter(({ url }) => url === '/v1/logs')
      .flatMap(({ body }) => body.resourceLogs.flatMap((each: Json) => each.scopeLogs[0].logRecords));
    assert.equal(records.length, 2);
    const cart = records.find(({ traceId }) => traceId === trace);
    const about = textOf(cart.attributes);
    for (const [key, value] of Object.entries({
      'underpass.tunnel': 'shop',
      'underpass.project': 'p1',
      'client.address': '127.0.0.1',
      'http.request.method': 'GET',
      'url.path': '/cart',
      'url.query': 'item=1',
      'http.response.status_code': '200',
      'user_agent.original': 'curl/8',
    }))
      assert.equal(about[key], value, key);
    assert.ok(Math.abs(Number(cart.timeUnixNano) / 1e6 - Date.now()) < 60_000);
    assert.ok(records.every(({ body }) => /^[ -~]+$/.test(body.stringValue)));

    const metrics = collector.posted.filter(({ url }) => url === '/v1/metrics');
    const points = metrics.flatMap(({ body }) =>
      body.resourceMetrics[0].scopeMetrics[0].metrics.flatMap((metric: Json) =>
        (metric.sum ?? metric.histogram).dataPoints.map((point: Json) => ({ name: metric.name, ...point })),
      ),
    );
    const requests = points.filter(({ name }) => name === 'underpass.tunnel.requests');
    const sum = (status: string): number =>
      requests
        .filter(({ attributes }) => textOf(attributes)['underpass.status_class'] === status)
        .reduce((all, { asInt }) => all + Number(asInt), 0);
    assert.deepEqual([sum('2xx'), sum('4xx')], [1, 1]);
    const times = points.filter(({ name }) => name === 'underpass.tunnel.first_byte');
    assert.equal(
      times.reduce((all, { count }) => all + Number(count), 0),
      2,
    );
    for (const { bucketCounts, explicitBounds } of times) assert.equal(bucketCounts.length, explicitBounds.length + 1);
    assert.ok(
      points.every(({ attributes }) => textOf(attributes)['underpass.tunnel'] === 'shop'),
      'none without traffic',
    );
    assert.ok(collector.posted.every(({ headers }) => headers.authorization === 'Bearer sesame'));
  });

it('sends no record of a request unless the operator asks for it', async (t) => {
  const collector = await startCollector(t);
  const rig = await startEdge(t, optionsOf(collector.url, false));
  await visit(rig, '/');
  await rig.edge.drain(10_000);
  assert.deepEqual(new Set(collector.posted.map(({ url }) => url)), new Set(['/v1/metrics']));
});

const record = { ...{ atMs: 0, address: '192.0.2.1', host, method: 'GET', target: '/', version: '1.1', status: 200, bytes: 0 } };
const seen = {
  ...{ ...record, referer: '', agent: '', who: '', code: null, trace: '', tunnel: null },
  times: () => ({ edgeMs: null, tunnelMs: null, upstreamMs: null, totalMs: 1 }),
};
const source = { region: 'eu', instance: 'edge-1', software: 'underpass/0.1.0', startedAtMs: 1 };

function exportTo(t: TestContext, url: string) {
  const said: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void said.push(line) });
  const exporter = new OtlpExport({ options: optionsOf(url), source, tunnels: () => [], log });
  t.after(() => exporter.close());
  return { exporter, said };
}

it('keeps records while the collector fails, says so once, and sends each once later', async (t) => {
  const collector = await startCollector(t, (response) => void response.writeHead(503).end());
  const { exporter, said } = exportTo(t, collector.url);
  for (let at = 0; at < 10; at++) exporter.take(seen);
  await exporter.flush();
  await exporter.flush();
  assert.equal(said.length, 1);
  collector.posted.length = 0;
  collector.answer = (response) => void response.end('{}');
  await exporter.flush();
  assert.equal(collector.posted[0]?.body.resourceLogs[0].scopeLogs[0].logRecords.length, 10);
  await exporter.flush();
  assert.deepEqual([collector.posted.length, exporter.dropped], [1, 0]);
});

for (const [status, headers, why] of [
  [400, {}, 'refuses what it gets'],
  [401, {}, 'does not know the token'],
] as const)
  it(`drops and counts the records of a collector that ${why}`, async (t) => {
    const collector = await startCollector(t, (response) => void response.writeHead(status, headers).end('no'));
    const { exporter } = exportTo(t, collector.url);
    for (let at = 0; at < 3; at++) exporter.take(seen);
    await exporter.flush();
    assert.deepEqual([collector.posted.length, exporter.dropped], [1, 3]);
  });

it('follows no redirect: the headers are for one address', async (t) => {
  const other = await startCollector(t);
  const collector = await startCollector(
    t,
    (response) => void response.writeHead(307, { location: `${other.url}/v1/logs` }).end(),
  );
  const { exporter } = exportTo(t, collector.url);
  exporter.take(seen);
  await exporter.flush();
  assert.deepEqual([collector.posted.length, other.posted.length], [1, 0]);
});

it('holds 8 MiB of records for a collector that hangs, counts the rest, and ends within seconds', async (t) => {
  const collector = await startCollector(t, () => {});
  const { exporter } = exportTo(t, collector.url);
  const large = { ...seen, target: `/${'x'.repeat(2_000)}`, agent: 'y'.repeat(700) };
  const startMs = performance.now();
  for (let at = 0; at < 10_000; at++) exporter.take(large);
  assert.ok(exporter.dropped > 5_000 && exporter.dropped < 8_500, `${exporter.dropped} dropped`);
  await exporter.flush();
  assert.ok(performance.now() - startMs < 10_000);
});

it('costs nothing and asks nobody if nobody listens', async (t) => {
  const { exporter, said } = exportTo(t, 'http://127.0.0.1:9');
  exporter.take(seen);
  await exporter.flush();
  await eventually(() => said.length === 1);
});
