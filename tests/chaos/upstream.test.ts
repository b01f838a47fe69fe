// The upstream of a tunnel fails in many ways: the visitor gets the error page of docs/errors.md, or a broken connection,
// never a cut answer that looks complete; edge and client release everything.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '@underpass/rules/test-kit.ts';
import { type FickleUpstream, startFickleUpstream, type Whim } from '../helpers/fickle-upstream.ts';
import { watchFootprints } from '../helpers/footprint.ts';
import { freePorts } from '../helpers/port.ts';
import { peakBytes, resetPeak, startClientProcess, startServerProcess } from '../helpers/process.ts';
import { figureOf } from '../helpers/region.ts';
import { requireTool, skipWithout } from '../helpers/tool.ts';
import { type Door, descriptorsSettle, getRequest, openDescriptors, openVisitor, visitUntil } from '../helpers/visitor.ts';
import { doorOf } from './stage.ts';

const crowd = 50;
/** Far more than the visits need on a busy machine if nothing hangs. */
const answerSeconds = 8;
/** How long a visitor waits for the rest of an answer that never ends, before it leaves. */
const patienceMs = 2_000;
const growthBytes = 64 * 1024 ** 2;

interface Seen {
  readonly text: string;
  /** How the edge ended the connection; `left` if the visitor ended it. */
  readonly end: 'end' | 'broken' | 'left';
}

/** Reads until the edge ends the connection; with `leaves`, at most until `patienceMs` after the first bytes. */
async function watch(door: Door, leaves: boolean): Promise<Seen> {
  const socket = await openVisitor(door);
  let text = '';
  let ended = false;
  socket.on('data', (data: Buffer) => {
    text += data.toString('latin1');
  });
  socket.on('end', () => {
    ended = true;
  });
  socket.write(getRequest(door));
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    const leave = (): void => {
      socket.removeAllListeners('close').destroy();
      resolve({ text, end: 'left' });
    };
    if (leaves)
      socket.once('data', () => {
        timer = setTimeout(leave, patienceMs);
      });
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(timer);
      resolve({ text, end: ended ? 'end' : 'broken' });
    });
  });
}

const isPage = (code: RegExp, status: number) => (seen: Seen) =>
  assert.ok(seen.text.startsWith(`HTTP/1.1 ${status} `) && code.test(seen.text) && seen.end === 'end', JSON.stringify(seen));
const isAnswer = (body: string) => (seen: Seen) =>
  assert.ok(seen.text.startsWith('HTTP/1.1 200 ') && seen.text.includes(body) && seen.end === 'end', JSON.stringify(seen));
const isCut = (seen: Seen) => assert.ok(seen.text.startsWith('HTTP/1.1 200 ') && seen.end === 'broken', JSON.stringify(seen));
const isLeft = (seen: Seen) => assert.equal(seen.end, 'left', JSON.stringify(seen));

const broke = isPage(/UNDERPASS_UPSTREAM_BROKE/, 502);
const timedOut = isPage(/UNDERPASS_UPSTREAM_TIMEOUT/, 504);

const expected: Readonly<Record<Whim, (seen: Seen) => void>> = {
  'answers well': isAnswer('\r\n\r\nok'),
  'ends at once': broke,
  // The reset may arrive before the client learns that it is connected.
  'resets at once': isPage(/UNDERPASS_UPSTREAM_(BROKE|UNREACHABLE)/, 502),
  'ends before the answer': broke,
  'resets before the answer': broke,
  'ends inside the head': broke,
  'hangs before the answer': timedOut,
  'hangs inside the head': timedOut,
  // Server-sent events and long polls look the same, so the edge waits until the visitor leaves.
  'hangs inside the body': isLeft,
  'ends inside the body': isCut,
  'resets inside the body': isCut,
  'answers garbage': isPage(/UNDERPASS_BAD_RESPONSE/, 502),
  'half-closes after an answer': isAnswer('\r\n\r\nok'),
  'ends an answer without a length': isAnswer('to the end'),
  'resets an answer without a length': isCut,
  // Keep this one last: the upstream does not listen again.
  refuses: isPage(/UNDERPASS_UPSTREAM_REFUSED/, 502),
};

const cuts = (Object.keys(expected) as Whim[]).filter((whim) => expected[whim] === isCut);

/** Whether curl accepts the answer as complete: it checks lengths and the ends of TLS and HTTP/2 streams. */
async function isComplete({ port, host }: Door, caFile: string, version: '--http1.1' | '--http2'): Promise<boolean> {
  const way = ['--noproxy', '*', '--resolve', `${host}:${port}:127.0.0.1`, '--cacert', caFile, '--max-time', '10'];
  const args = [version, '--silent', '--output', '/dev/null', ...way, `https://${host}:${port}/`];
  const [code] = await once(spawn(requireTool('curl'), args, { stdio: 'ignore' }), 'exit');
  return code === 0;
}

test('a cut answer never looks complete', { skip: skipWithout('curl') }, async (t) => {
  const product = await startServerProcess(t);
  const upstream = await startFickleUpstream(t);
  await startClientProcess(t, product, upstream.url);
  const door = doorOf(product);
  await visitUntil(door, 200);
  for (const whim of ['answers well', 'ends an answer without a length', ...cuts] as Whim[]) {
    upstream.whim = whim;
    for (const version of ['--http1.1', '--http2'] as const)
      assert.equal(await isComplete(door, join(product.home, 'ca.pem'), version), !cuts.includes(whim), `${whim}, ${version}`);
  }
});

test('a failing upstream costs its visitors only an answer, and edge and client release everything', async (t) => {
  const [metricsPort = 0] = await freePorts(1);
  const product = await startServerProcess(t, {
    UNDERPASS_ANSWER_SECONDS: String(answerSeconds),
    UNDERPASS_METRICS_PORT: String(metricsPort),
  });
  const upstream = await startFickleUpstream(t);
  const client = await startClientProcess(t, product, upstream.url);
  const door = doorOf(product);
  await visitUntil(door, 200);
  const pids = { server: product.server.pid, client: client.pid };
  const before = { server: await openDescriptors(pids.server), client: await openDescriptors(pids.client) };
  const crowdVisits = (leaves = false): Promise<Seen[]> => Promise.all(Array.from({ length: crowd }, () => watch(door, leaves)));
  await crowdVisits();
  const comesBack = await watchFootprints(t, { server: product.server, client });

  for (const [whim, judge] of Object.entries(expected) as [Whim, (seen: Seen) => void][]) {
    await t.test(whim, async () => {
      await setWhim(upstream, whim);
      for (const pid of Object.values(pids)) await resetPeak(pid);
      const resident = { server: await peakBytes(pids.server), client: await peakBytes(pids.client) };
      for (const seen of await crowdVisits(judge === isLeft)) judge(seen);
      await eventually(
        () => figureOf({ metricsPort }, 'underpass_edge_streams'),
        (streams) => streams === 0,
      );
      await eventually(
        () => upstream.open,
        (open) => open === 0,
      );
      await descriptorsSettle(pids.server, before.server + 8);
      await descriptorsSettle(pids.client, before.client + 8);
      for (const name of ['server', 'client'] as const) {
        const grown = (await peakBytes(pids[name])) - resident[name];
        assert.ok(grown < growthBytes, `the ${name} grew by ${grown} bytes`);
      }
    });
  }
  await comesBack();
});

async function setWhim(upstream: FickleUpstream, whim: Whim): Promise<void> {
  upstream.whim = whim;
  if (whim === 'refuses') await upstream.refuse();
}
