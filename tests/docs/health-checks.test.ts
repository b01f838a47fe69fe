// The health checks for haproxy of docs/operations.md, played by a real haproxy: a slow edge is not a dead one, no check ends a
// connection, and edges that all look dead still get visitors.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { eventually } from '@underpass/rules/test-kit.ts';
import { freePorts } from '../helpers/port.ts';
import { startProgram } from '../helpers/process.ts';
import { requireTool, skipWithout } from '../helpers/tool.ts';

const page = readFileSync(fileURLToPath(new URL('../../docs/operations.md', import.meta.url)), 'utf8');
const snippet = /```haproxy file=edges.cfg\n(.*?)```/s.exec(page)?.[1] ?? '';
/** Answers to checks on a machine at 100 %, as measured (docs/operations.md). */
const busyMs = [950, 1_700, 2_200, 600, 1_900, 2_150] as const;

interface Edge {
  readonly name: string;
  readonly port: number;
  readonly checkPort: number;
  /** Time until the answer to the next check; null: none comes. */
  delayMs: () => number | null;
}

/** Answers a check late, and each line of a visitor with its name. */
async function startEdge(t: TestContext, name: string): Promise<Edge> {
  const sockets = new Set<Socket>();
  const visitors = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    socket.on('data', () => socket.write(`${name}\n`));
  }).listen(0, '127.0.0.1');
  const checks = createHttpServer((_request, response) => {
    const ms = edge.delayMs();
    if (ms !== null) setTimeout(() => response.end('ok\n'), ms);
  }).listen(0, '127.0.0.1');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    visitors.close();
    checks.closeAllConnections();
    checks.close();
  });
  await Promise.all([once(visitors, 'listening'), once(checks, 'listening')]);
  const [port, checkPort] = [visitors, checks].map((server) => (server.address() as AddressInfo).port) as [number, number];
  const edge: Edge = { name, port, checkPort, delayMs: () => 0 };
  return edge;
}

async function startBalancer(t: TestContext, edges: readonly Edge[], https: number, http: number): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'underpass-checks-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const control = join(folder, 'haproxy');
  const config = edges.reduce(
    (text, { port, checkPort }, at) =>
      text.replaceAll(
        new RegExp(`10\\.0\\.0\\.${at + 2}:\\d+(.* port )?(9443)?`, 'g'),
        (_all, before = '', check = '') => `127.0.0.1:${port}${before}${check && checkPort}`,
      ),
    snippet.replace('bind :443', `bind 127.0.0.1:${https}`).replace('bind :80', `bind 127.0.0.1:${http}`),
  );
  writeFileSync(join(folder, 'edges.cfg'), `global\n  stats socket ${control} mode 600 level admin\n${config}`);
  const haproxy = startProgram(t, requireTool('haproxy'), ['-db', '-f', join(folder, 'edges.cfg')]);
  await haproxy.listening(https);
  return control;
}

/** The servers of the https backend by name: `UP`, `DOWN`, `no check`. */
async function states(control: string): Promise<Record<string, string>> {
  const socket = connect(control);
  socket.end('show stat\n');
  const text = (await socket.setEncoding('utf8').toArray()).join('');
  const rows = text.split('\n').map((line) => line.split(','));
  return Object.fromEntries(
    rows.filter(([backend, name = '']) => backend === 'edges_https' && name !== 'BACKEND').map((row) => [row[1], row[17] ?? '']),
  );
}

async function visit(port: number): Promise<{ socket: Socket; ask(): Promise<string> }> {
  const socket = connect(port, '127.0.0.1');
  const ask = async (): Promise<string> => {
    socket.write('?\n');
    const [answer] = await once(socket, 'data', { signal: AbortSignal.timeout(5_000) });
    return String(answer).split('\n')[0] ?? '';
  };
  await once(socket, 'connect');
  return { socket, ask };
}

test('checks of the documented haproxy', { skip: skipWithout('haproxy') }, async (t) => {
  const edges = [await startEdge(t, 'edge-1'), await startEdge(t, 'edge-2')] as const;
  const [https = 0, http = 0] = await freePorts(2);
  const control = await startBalancer(t, edges, https, http);
  const open = await Promise.all(Array.from({ length: 6 }, () => visit(https)));
  t.after(() => {
    for (const { socket } of open) socket.destroy();
  });
  const names = await Promise.all(open.map(({ ask }) => ask()));
  assert.deepEqual(new Set(names), new Set(['edge-1', 'edge-2']));
  const stay = async (when: string): Promise<void> =>
    assert.deepEqual(await Promise.all(open.map(({ ask }) => ask())), names, when);
  const down = async (): Promise<readonly string[]> =>
    Object.entries(await states(control)).flatMap(([name, state]) => (state.startsWith('DOWN') ? name : []));

  await t.test('take no edge of a busy machine for a dead one', async () => {
    for (const [at, edge] of edges.entries()) {
      let turn = at;
      edge.delayMs = () => busyMs[turn++ % busyMs.length] ?? 0;
    }
    const endsAtMs = performance.now() + 7_000;
    while (performance.now() < endsAtMs) {
      assert.deepEqual(await down(), []);
      await stay('a busy edge');
      await wait(250);
    }
  });

  await t.test('send new visitors past an edge that hangs, and end no connection to it', async () => {
    edges[0].delayMs = () => null;
    edges[1].delayMs = () => 0;
    await eventually(down, (names) => names.includes('edge-1'));
    await stay('an edge that hangs');
    for (let i = 0; i < 4; i++) {
      const visitor = await visit(https);
      open.push(visitor);
      names.push('edge-2');
    }
    await stay('new visitors');
  });

  await t.test('leave the last edges in place', async () => {
    edges[1].delayMs = () => null;
    await eventually(down, (names) => names.length === 2);
    const late = await Promise.all([visit(https), visit(https)]);
    open.push(...late);
    for (const { ask } of late) assert.match(await ask(), /^edge-[12]$/);
  });
});
