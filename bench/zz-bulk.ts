import { mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { haproxyHttps, haproxyTcp } from './peers/haproxy.ts';
import { underpassHttps, underpassTcp } from './peers/underpass.ts';
import { oneMachine } from './peers/peer.ts';
import { firstJson, start, stopAll } from './peers/processes.ts';
import { load, pidsOf } from './measurements.ts';
const host = 'bench.localhost';
if (process.env.WRAP) process.execPath = process.env.WRAP;
const [names = 'u', ways = 'down1', times = '6', bytesText = '400'] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'zzb-'));
const peers: Record<string, any> = { u: underpassHttps, h: haproxyHttps, ut: underpassTcp, ht: haproxyTcp };
const schedPid = (pid: number) => {
  let main = 0, rest = 0, user = 0, sys = 0, vol = 0, invol = 0;
  for (const tid of readdirSync(`/proc/${pid}/task`)) {
    try {
      const ns = Number(readFileSync(`/proc/${pid}/task/${tid}/schedstat`, 'latin1').split(' ')[0]);
      if (Number(tid) === pid) main += ns; else rest += ns;
      const st = readFileSync(`/proc/${pid}/task/${tid}/status`, 'latin1');
      vol += Number(/\nvoluntary_ctxt_switches:\s+(\d+)/.exec(st)?.[1]); invol += Number(/nonvoluntary_ctxt_switches:\s+(\d+)/.exec(st)?.[1]);
    } catch {}
  }
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1'); const f = text.slice(text.lastIndexOf(')') + 2).split(' ');
  user = Number(f[11]) / 100; sys = Number(f[12]) / 100;
  return { main: main / 1e9, rest: rest / 1e9, user, sys, vol, invol };
};
const kids = (pid: number): number[] => { const own = [pid]; for (const p of readdirSync('/proc')) if (/^\d+$/.test(p)) { try { const t = readFileSync(`/proc/${p}/stat`, 'latin1'); if (Number(t.slice(t.lastIndexOf(')') + 2).split(' ')[1]) === pid) own.push(...kids(Number(p))); } catch {} } return own; };
const all = (roots: number[]) => { const r: any = {}; for (const root of roots) for (const pid of kids(root)) { try { const s: any = schedPid(pid); for (const k in s) r[k] = (r[k] ?? 0) + s[k]; } catch {} } return r; };
for (const name of names.split(',')) {
  const own = join(folder, name); mkdirSync(own);
  const origin = start('node', [join(import.meta.dirname, 'origin.ts')]);
  const { port: originPort } = await firstJson<{ port: number }>(origin);
  const running = await peers[name].start({ ...oneMachine, originPort, folder: own, host });
  const on = { running, host, seconds: 1 };
  if (process.env.WARM) await firstJson(load({ ...on, seconds: Number(process.env.WARM) }, 'small', { connections: 64 }), 60_000);
  for (const way of ways.split(',')) for (let t = 0; t < Number(times); t++) {
    const workload = way.replace(/\d/, ''), streams = Number(way.match(/\d/)![0]);
    const sides = [running.edgeSide, running.clientSide].map((s: any) => s.map((p: any) => p.pid));
    const before = sides.map(all);
    let prof: any;
    if (process.env.PERF && t === Number(times) - 1) { const side = process.env.PERF_SIDE === 'client' ? 1 : 0; const pids = sides[side]!.flatMap(kids).join(','); prof = process.env.STRACE ? start('strace', ['-f', '-c', '-w', '-o', process.env.PERF, '-p', pids]) : start('perf', ['record', '-e', 'cpu-clock', '-F', '2000', '-o', process.env.PERF, '-p', pids]); await new Promise((r) => setTimeout(r, 700)); }
    const r = await firstJson<any>(load(on, workload, { connections: streams, bytes: Number(bytesText) * 1e6 / streams }), 300_000);
    const after = sides.map(all);
    if (prof) { prof.child.kill('SIGINT'); await new Promise((r) => setTimeout(r, 1500)); }
    const gb = r.bytes / 1e9;
    const d = (i: number, k: string) => ((after[i] as any)[k] - (before[i] as any)[k]) / gb;
    const line = [0, 1].map((i) => `main ${d(i, 'main').toFixed(3)} rest ${d(i, 'rest').toFixed(3)} user ${d(i, 'user').toFixed(2)} sys ${d(i, 'sys').toFixed(2)} vol ${d(i, 'vol').toFixed(0)} inv ${d(i, 'invol').toFixed(0)}`);
    const total = [0, 1].reduce((s, i) => s + d(i, 'main') + d(i, 'rest'), 0);
    console.log(`${name} ${way} #${t} total ${total.toFixed(3)} rate ${(r.bytes / 1e6 / r.seconds).toFixed(0)} | edge ${line[0]} | client ${line[1]}`);
  }
  await stopAll();
}
process.exit(0);
