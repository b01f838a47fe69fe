import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createServer, type Server } from 'node:net';
import { duplexPair } from 'node:stream';
import { describe, it } from 'node:test';
import { createSocketPair } from './fixture/sockets.ts';
import { adaptControl, beginNear, offeredControls, readTcpInfo } from './tcp-path.ts';

describe('a TCP connection as the kernel sees it', { skip: process.platform !== 'linux' && 'TCP_INFO is of Linux' }, () => {
  it('has a round trip and a window on loopback', async () => {
    const [near, far] = await createSocketPair();
    const { minRttMs, windowSegments } = readTcpInfo(near) ?? { minRttMs: 0, windowSegments: 0 };
    assert.ok(minRttMs > 0 && minRttMs < 1_000, `${minRttMs} ms`);
    assert.ok(windowSegments > 1, `${windowSegments} segments`);
    for (const socket of [near, far]) socket.destroy();
  });

  it('keeps a control that the system offers, or takes the near one, on loopback', async () => {
    const [near, far] = await createSocketPair();
    const { system = '', near: cheap = null } = offeredControls() ?? {};
    assert.equal(adaptControl(near), system === 'bbr' && cheap !== null ? cheap : system);
    for (const socket of [near, far]) socket.destroy();
  });

  it('keeps the control of the system on every path if UNDERPASS_CONGESTION is system', () => {
    const script = `const { offeredControls } = await import('${import.meta.dirname}/tcp-path.ts'); console.log(offeredControls());`;
    const env = { ...process.env, UNDERPASS_CONGESTION: 'system' };
    const offers = execFileSync(process.execPath, ['--input-type=module', '-e', script], { env, encoding: 'utf8' });
    assert.equal(offers, 'null\n');
  });

  it('is nothing, and no error, once it is closed', async () => {
    const [near, far] = await createSocketPair();
    near.destroy();
    assert.deepEqual([readTcpInfo(near), adaptControl(near)], [null, null]);
    far.destroy();
  });
});

describe('what is no TCP connection', () => {
  it('has neither path nor control', () => {
    const [pipe] = duplexPair();
    assert.deepEqual([readTcpInfo(pipe), adaptControl(pipe)], [null, null]);
    beginNear(createServer() as Server);
  });
});
