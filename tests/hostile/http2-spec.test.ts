// h2spec against the edge: every rule of RFC 7540 and RFC 7541 that it checks, but for those that Node does not keep.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createRig, tunnelOf } from '@underpass/edge/fixture/rig.ts';
import { createTestAuthority } from '@underpass/wire/fixture/certificate.ts';
import { requireTool, skipWithout } from '../helpers/tool.ts';

/** h2spec sends the name that it dials as server name, and this is the one name that leads every machine to itself. */
const host = 'localhost';

const forgets = 'nghttp2 forgets a closed stream and ignores later frames for it; the edge counts them as overhead';
const noPriorities = 'nghttp2 ignores PRIORITY, which RFC 9113 5.3 deprecates; the edge counts it as overhead';

/** What Node's HTTP/2 does otherwise, and why that does no harm here. A row whose case passes has to go. */
const excepted: Readonly<Record<string, string>> = {
  'http2/5.1: closed: Sends a DATA frame': forgets,
  'http2/5.1: closed: Sends a DATA frame after sending RST_STREAM frame': forgets,
  'http2/5.1: closed: Sends a HEADERS frame': forgets,
  'http2/5.1: closed: Sends a HEADERS frame after sending RST_STREAM frame': forgets,
  'http2/5.1.1: Sends stream identifier that is numerically smaller than previous': forgets,
  'http2/5.3.1: Sends PRIORITY frame that depend on itself': noPriorities,
  'http2/6.3: Sends a PRIORITY frame with 0x0 stream identifier': noPriorities,
  'http2/6.7: Sends a PING frame with ACK':
    'Node ends a connection that answers a PING that was not sent; the edge wants that too',
  'http2/6.9.1: Sends multiple WINDOW_UPDATE frames increasing the flow control window to above 2^31-1 on a stream':
    'Node ends the connection for an error of one stream, which RFC 9113 5.4.1 allows; the edge sends GOAWAY first',
};

/** Cases that send one more frame after a whole request. Until its answer has ended nghttp2 refuses that; then it has forgotten the stream. */
const passesByTiming: readonly string[] = [
  'http2/5.1: half closed (remote): Sends a DATA frame',
  'http2/5.1: half closed (remote): Sends a HEADERS frame',
  'http2/6.1: Sends a DATA frame on the stream that is not in &#34;open&#34; or &#34;half-closed (local)&#34; state',
];

/** Answers no request before its end: an answered one is forgotten, and then what h2spec sends for it breaks no rule. */
const patientUpstream = (): Server =>
  createServer((request, response) => void request.resume().on('end', () => response.end('ok')));

interface Case {
  readonly name: string;
  readonly passed: boolean;
}

async function runSpec(port: number): Promise<Case[]> {
  const folder = await mkdtemp(join(tmpdir(), 'underpass-h2spec-'));
  const report = join(folder, 'report.xml');
  // It waits this many seconds for what must come, and for what must not.
  const args = ['--host', host, '--port', String(port), '--tls', '--insecure', '--timeout', '2', '--junit-report', report];
  // It ends with 1 where a case failed, so only the report counts.
  await new Promise<void>((resolve) => void execFile(requireTool('h2spec'), args, { timeout: 240_000 }, () => resolve()));
  const text = await readFile(report, 'utf8').finally(() => rm(folder, { recursive: true }));
  return [...text.matchAll(/<testcase package="([^"]*)" classname="([^"]*)"[^>]*?(?:\/>|>([\s\S]*?)<\/testcase>)/g)].map(
    ([, section, title, outcome = '']) => ({ name: `${section}: ${title}`, passed: !/<(failure|error)/.test(outcome) }),
  );
}

test('HTTP/2 keeps every rule that h2spec checks, but for those named here', { skip: skipWithout('h2spec') }, async () => {
  await using rig = await createRig([tunnelOf('t', { hosts: [host] })]);
  const { keyPem, chainPem } = await (await createTestAuthority()).issue([host]);
  const certificate = { id: 'spec', hosts: [host], certificatePem: chainPem, privateKeyPem: keyPem, notAfterMs: 1 };
  await rig.control.change({ certificates: [certificate] });
  await rig.client('t', patientUpstream());
  const cases = await runSpec(rig.edge.ports.https);
  assert.ok(cases.length >= 140, `only ${cases.length} cases ran`);
  const names = new Set(cases.map(({ name }) => name));
  assert.ok(passesByTiming.every((name) => names.has(name)));
  const failed = cases.filter(({ name, passed }) => !passed && !passesByTiming.includes(name)).map(({ name }) => name);
  assert.deepEqual(failed.sort(), Object.keys(excepted).sort());
});
