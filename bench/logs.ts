// What the logs of visits cost: an edge and a client for each way, loaded in short turns, so noise affects all alike.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Sample } from './core/table.ts';
import { load } from './measurements.ts';
import { oneMachine } from './peers/peer.ts';
import { firstJson, start, stopAll } from './peers/processes.ts';
import { startTunnels } from './peers/underpass.ts';
import { print, turned, turnOf, warmTurns } from './policy.ts';

const ways = [
  { name: 'without', logs: {} },
  { name: 'visitor log', logs: { visitorLog: true } },
  { name: 'visitor log and access log', logs: { visitorLog: true, accessLog: true } },
];

export async function measureLogs(folder: string, rounds: number, seconds: number, host: string): Promise<void> {
  const origin = start(process.execPath, [join(import.meta.dirname, 'origin.ts')]);
  const { port: originPort } = await firstJson<{ port: number }>(origin);
  const loaded = await Promise.all(
    ways.map(async ({ name, logs }) => {
      const own = join(folder, name);
      mkdirSync(own);
      const [running] = await startTunnels({ ...oneMachine, originPort, folder: own, host }, 'https', [{ host, ...logs }]);
      if (running === undefined) throw new Error('no tunnel started');
      const on = { host, seconds, running };
      return { name, on, asking: load(on, 'turns', { connections: 64 }) };
    }),
  );
  const samples: Sample[] = [];
  for (let round = -warmTurns; round < rounds; round++) {
    for (const { name, on, asking } of turned(loaded, round)) {
      const value = await turnOf(on, asking);
      if (round >= 0) samples.push({ peer: name, column: 'CPU per small request, µs', value });
    }
  }
  await stopAll();
  print(samples);
}
