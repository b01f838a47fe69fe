import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { it } from 'node:test';
import { connect as connectTls, createServer as createServerTls, type TLSSocket } from 'node:tls';
import { createTestAuthority } from '../fixture/certificate.ts';
import { createSocketPair } from '../fixture/sockets.ts';
import { resetSocket } from './reset-socket.ts';
import { SocketWriter } from './socket-writer.ts';
import { atTurnEnd } from './turn-end.ts';

it('resetSocket: the peer sees a reset', async () => {
  const [near, far] = await createSocketPair();
  const error = new Promise<NodeJS.ErrnoException>((resolve) => far.once('error', resolve));
  far.resume();
  resetSocket(near);
  assert.equal((await error).code, 'ECONNRESET');
});

it('resetSocket: in the turn of end() the socket is really closed', async () => {
  const [near, far] = await createSocketPair();
  far.on('error', () => {});
  const closed = once(far, 'close');
  far.end();
  far.resume();
  near.end();
  resetSocket(near);
  await Promise.all([closed, once(near, 'close')]);
  assert.equal(process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length, 0);
});

it('resetSocket: under TLS the peer sees a reset, and no handle stays open', async () => {
  const { certificatePem: ca, issue } = await createTestAuthority();
  const { keyPem: key, chainPem: cert } = await issue(['far.test']);
  const [near, far] = await createSocketPair();
  const tls = createServerTls({ key, cert, allowHalfOpen: true });
  tls.emit('connection', near);
  const visitor = connectTls({ socket: far, servername: 'far.test', ca });
  const [[secured]] = (await Promise.all([once(tls, 'secureConnection'), once(visitor, 'secureConnect')])) as [
    [TLSSocket],
    unknown,
  ];
  const error = new Promise<NodeJS.ErrnoException>((resolve) => visitor.once('error', resolve));
  const closed = [near, far].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
  visitor.resume();
  resetSocket(secured);
  assert.equal((await error).code, 'ECONNRESET');
  await Promise.all(closed);
  assert.equal(process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length, 0);
});

it('a small piece leaves at once when nothing waits, else together with the other pieces of the turn', async () => {
  const writes: string[] = [];
  const target = new Writable({
    write(chunk: Buffer, _encoding, callback) {
      writes.push(chunk.toString('latin1').replace(/b{2,}/, 'bulk'));
      callback();
    },
  });
  const writer = new SocketWriter(target as never, () => {});
  writer.write(Buffer.from('prompt'));
  assert.deepEqual(writes, ['prompt']);
  await new Promise<void>((resolve) => atTurnEnd(resolve));
  writer.write(Buffer.alloc(5_000, 'b'));
  writer.write(Buffer.from(' and little'));
  assert.deepEqual(writes, ['prompt']);
  writer.end();
  writer.write(Buffer.from('late'));
  await once(target, 'finish');
  assert.deepEqual(writes, ['prompt', 'bulk and little']);
  assert.equal(writer.waitingBytes, 0);
});
