import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { trimMemory } from '@underpass/runtime/libc.ts';
import { createTestAuthority } from '@underpass/wire/fixture/certificate.ts';
import { createSocketPair } from '@underpass/wire/fixture/sockets.ts';
import { readShared } from '@underpass/wire/socket/shared-read.ts';
import { peekFirst, takePeeked } from './kernel-peek.ts';

const seen = (socket: Socket) =>
  new Promise<string>((resolve) => peekFirst(socket, (bytes) => resolve(bytes.toString('latin1'))));

/** The number of reads of this process. */
const reads = () => Number(/^syscr: (\d+)$/m.exec(readFileSync('/proc/self/io', 'latin1'))?.[1]);

describe('a peek at a connection', () => {
  it('works in this runtime', () => {
    assert.notEqual(trimMemory, null);
  });

  it('lets the caller take the peeked bytes, and no later ones', async () => {
    const [near, far] = await createSocketPair();
    near.write('first second');
    assert.equal(await seen(far), 'first second');
    assert.equal(takePeeked(far, 6).toString('latin1'), 'first ');
    const rest = new Promise<string>((resolve) => readShared(far, (bytes) => resolve(bytes.toString('latin1'))));
    assert.equal(await rest, 'second');
    for (const socket of [near, far]) socket.destroy();
  });

  it('leaves the peeked bytes to the next reader', async () => {
    const [near, far] = await createSocketPair();
    near.write('first');
    assert.equal(await seen(far), 'first');
    assert.equal(far.bytesRead, 0);
    const whole = new Promise<string>((resolve) => {
      let text = '';
      readShared(far, (bytes) => {
        text += bytes.toString('latin1');
        if (text.length === 12) resolve(text);
      });
    });
    near.write(' second');
    assert.equal(await whole, 'first second');
    for (const socket of [near, far]) socket.destroy();
  });

  it('calls back once, and not for later bytes', async () => {
    const [near, far] = await createSocketPair();
    let looks = 0;
    const first = new Promise<void>((resolve) =>
      peekFirst(far, () => {
        looks++;
        resolve();
      }),
    );
    near.write('a');
    await first;
    const more = new Promise((resolve) => readShared(far, (bytes) => bytes.includes('b') && resolve(null)));
    near.write('b');
    await more;
    assert.equal(looks, 1);
    for (const socket of [near, far]) socket.destroy();
  });

  it('sees nothing of a connection that ended without a byte, and leaves the end to the next reader', async () => {
    const [near, far] = await createSocketPair();
    near.end();
    assert.equal(await seen(far), '');
    readShared(far, () => assert.fail('there was nothing'));
    await once(far, 'end');
    for (const socket of [near, far]) socket.destroy();
  });

  it('sees nothing of a connection that was reset, which the next reader finds ended', async () => {
    const [near, far] = await createSocketPair();
    near.resetAndDestroy();
    assert.equal(await seen(far), '');
    readShared(far, () => assert.fail('there was nothing'));
    // Linux reports a reset once, and the peek got that report.
    await once(far, 'end');
    far.destroy();
  });

  it('does not call back for a socket that was destroyed before', async () => {
    const [near, far] = await createSocketPair();
    peekFirst(far, () => assert.fail('called back for a destroyed socket'));
    far.destroy();
    await once(far, 'close');
    near.destroy();
  });

  it('writes no warning to the log of its process', () => {
    const page = `import ${JSON.stringify(new URL('./kernel-peek.ts', import.meta.url))}; process.emitWarning('still heard');`;
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', page], { encoding: 'utf8' });
    assert.equal(status, 0);
    assert.match(stderr, /still heard/);
    assert.doesNotMatch(stderr, /FFI/);
  });

  it('lets TLS read bulk transfer in large pieces', async (test) => {
    const bytes = 1024 * 1024;
    const authority = await createTestAuthority();
    const { keyPem, chainPem } = await authority.issue(['a.test']);
    const server = createTlsServer({ key: keyPem, cert: chainPem });
    const [near, far] = await createSocketPair();
    const secured = once(server, 'secureConnection') as Promise<[TLSSocket]>;
    const visitor = connectTls({ socket: near, servername: 'a.test', ca: authority.certificatePem });
    await seen(far);
    server.emit('connection', far);
    const [[socket]] = await Promise.all([secured, once(visitor, 'secureConnect')]);
    test.after(() => {
      for (const end of [socket, visitor, near, far]) end.destroy();
    });
    // All bytes wait in the kernel or in this process's memory before the first read.
    socket.pause();
    for (let sent = 0; sent < bytes; sent += 65_536) visitor.write(Buffer.alloc(65_536));
    while (near.writableLength > 0 && near.bytesWritten < bytes / 2) await new Promise((resolve) => setImmediate(resolve));
    const before = reads();
    let read = 0;
    await new Promise<void>((resolve) => {
      readShared(socket, (chunk) => {
        read += chunk.length;
        if (read === bytes) resolve();
      });
      socket.resume();
    });
    // Pieces of 64 and 16 KiB in turn; if TLS was handed the hello, pieces of 16 KiB and of the hello's length.
    const pieces = reads() - before;
    assert.ok(pieces < bytes / 16_384, `${bytes} bytes in ${pieces} reads`);
  });
});
