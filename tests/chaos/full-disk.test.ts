// The disk of control or of an edge fills up: what needs no disk goes on, what needs one reports it, and all works again
// once there is room. Needs root, because the disk is a mount of a few megabytes.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { eventually } from '@underpass/rules/test-kit.ts';
import { mountSmallDisk } from '../helpers/disk.ts';
import { watchFootprints } from '../helpers/footprint.ts';
import { keepVisiting } from '../helpers/load.ts';
import { freePorts } from '../helpers/port.ts';
import { restartServerProcess, startClientProcess, startProcess, startServerProcess } from '../helpers/process.ts';
import { startRegion } from '../helpers/region.ts';
import { skipWithoutRoot } from '../helpers/tool.ts';
import { visit, visitUntil } from '../helpers/visitor.ts';
import { doorOf, signIn, startUpstream } from './stage.ts';

const skip = skipWithoutRoot('a mount');
/** An allow-list as long as the quota permits, so that few of them fill what room SQLite's log still has. */
const longList = (last: number): string[] => Array.from({ length: 400 }, (_, index) => `10.${last}.${index >> 8}.${index & 255}`);

test('a full disk under control stops only changes, and leaves no half-written row', { skip }, async (t) => {
  const disk = await mountSmallDisk(t, 16);
  const product = await startServerProcess(t, { UNDERPASS_HOME: disk.path });
  const door = doorOf(product);
  await startClientProcess(t, product, await startUpstream(t));
  await visitUntil(door, 200);
  const { call, project } = await signIn(product);
  const visitors = keepVisiting(t, door);
  const comesBack = await watchFootprints(t, { server: product.server });
  const path = `/api/security-groups?project=${project}`;
  const create = (index: number) => call<string>('POST', path, { name: `g-${index}`, allow: longList(index) });

  await disk.fill();
  const acknowledged: string[] = [];
  const refused = await eventually(
    async () => {
      const name = acknowledged.length;
      const answer = await create(name);
      if (answer.status < 300) acknowledged.push(`g-${name}`);
      return answer;
    },
    ({ status }) => status >= 300,
  );
  assert.equal(refused.status, 503, JSON.stringify(refused.body));
  assert.match(refused.body, /database/i);
  assert.equal((await call('GET', path)).status, 200, 'reads still work');

  await disk.free();
  const next = acknowledged.length;
  assert.ok((await create(next)).status < 300, 'a change succeeds once there is room');
  acknowledged.push(`g-${next}`);
  const { body } = await call<{ name: string; allowList: string[] }[]>('GET', path);
  const made = body.filter(({ name }) => name !== 'default');
  assert.deepEqual(made.map(({ name }) => name).toSorted(), acknowledged.toSorted());
  for (const { allowList } of made) assert.equal(allowList.length, 400);
  const { statuses, visits } = await visitors.stop();
  assert.deepEqual(statuses, { 200: visits }, 'a visit failed');
  await comesBack();

  await product.server.end('SIGKILL');
  const database = new DatabaseSync(join(disk.path, 'underpass.db'));
  assert.deepEqual({ ...database.prepare('pragma integrity_check').get() }, { integrity_check: 'ok' });
  assert.deepEqual(database.prepare('pragma foreign_key_check').all(), []);
  database.close();
  await restartServerProcess(t, product);
  await visitUntil(door, 200);
});

test('a start on a full disk names the disk, and succeeds once there is room', { skip }, async (t) => {
  const disk = await mountSmallDisk(t, 4);
  await disk.fill();
  const env = { UNDERPASS_HOME: disk.path, UNDERPASS_PORT: '0', UNDERPASS_EDGE_HTTPS_PORT: '0', UNDERPASS_EDGE_HTTP_PORT: '0' };
  const refused = startProcess(t, ['server/main.ts', 'start'], env);
  const ended = once(refused.child, 'exit');
  await refused.seen(/^error no-room: .+\n.*disk of UNDERPASS_HOME.*\n$/);
  await ended;
  assert.equal(refused.child.exitCode, 4);
  await disk.free();
  await startServerProcess(t, { UNDERPASS_HOME: disk.path });
});

test('an edge with a full disk still applies changes, and writes its copy once there is room', { skip }, async (t) => {
  const disk = await mountSmallDisk(t, 4);
  const [publicPort = 0] = await freePorts(1);
  const region = await startRegion(t, publicPort);
  const edge = await region.startEdge({ home: disk.path, env: { UNDERPASS_EDGE_HTTPS_PORT: String(publicPort) } });
  const tunnel = await region.createTunnel('web');
  const door = region.doorOf(tunnel, publicPort);
  await region.startClient(tunnel, await startUpstream(t));
  await visitUntil(door, 200);
  const copy = join(disk.path, 'edge', 'routes.json');
  const listIn = async (): Promise<unknown> =>
    JSON.parse(await readFile(copy, 'utf8').catch(() => '{}')).state?.tunnels[0]?.allowList ?? [];
  await eventually(listIn, (list) => JSON.stringify(list).includes('0.0.0.0/0'));
  const comesBack = await watchFootprints(t, { edge: edge.process, control: region.control });

  await disk.fill();
  const { call, project } = region.account;
  const close = { allow: ['192.0.2.1'] };
  assert.ok((await call('PATCH', `/api/security-groups/default?project=${project}`, close)).status < 300);
  await visitUntil(door, 403);
  await edge.process.seen(/the copy of the routes is not kept/);
  assert.match(JSON.stringify(await listIn()), /0\.0\.0\.0/, 'the old copy is intact');

  await disk.free();
  await eventually(listIn, (list) => JSON.stringify(list) === '["192.0.2.1"]', 60_000);
  await comesBack();
  await region.control.end('SIGKILL');
  await edge.process.end('SIGKILL');
  await edge.restart();
  assert.equal((await visit(door)).status, 403, 'without control the edge applies the newest list');
});
