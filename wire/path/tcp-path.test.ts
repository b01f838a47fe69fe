import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { describe, it } from 'node:test';
import { createSocketPair } from '../fixture/sockets.ts';
import { adaptControl, beginNear, connectNear, offeredControls, readTcpInfo } from './tcp-path.ts';

/** Whether the kernel holds packets back; a control other than BBR does not by itself. */
function isPaced(socket: Socket): boolean {
  const lines = execFileSync('ss', ['-tin', `sport = :${socket.localPort}`], { encoding: 'utf8' });
  return / bbr /.test(lines);
}

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

  for (const host of ['127.0.0.1', '::1', 'localhost'])
    it(`connects to ${host}, with any control of the system, reads and ends`, async (t) => {
      const server = createServer({ allowHalfOpen: true }, (socket) => socket.on('error', () => {}).pipe(socket));
      const hostPart = host === 'localhost' ? {} : { host };
      await once(server.listen({ port: 0, ...hostPart }), 'listening');
      t.after(() => server.close());
      const socket = connectNear({ host, port: (server.address() as AddressInfo).port, allowHalfOpen: true });
      t.after(() => socket.destroy());
      await once(socket, 'connect');
      const { system = '', near = null } = offeredControls() ?? {};
      if (host !== 'localhost' && system === 'bbr' && near !== null) assert.equal(isPaced(socket), false);
      socket.end('hello');
      let text = '';
      for await (const chunk of socket) text += chunk;
      assert.equal(text, 'hello');
    });

  it('fails as net.connect does if nothing listens', async () => {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const [error] = await once(connectNear({ host: '127.0.0.1', port }), 'error');
    assert.equal(error.code, 'ECONNREFUSED');
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
