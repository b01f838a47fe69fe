import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import {
  assertNothingHeld,
  encodeH2Frame,
  endHeaders,
  endStream,
  type Frame,
  type FrameReader,
  frameTypes,
  getFrame,
  literal,
  postFrame,
  requestFields,
  setting,
  settingIds,
  visitByFrame,
} from '../fixture/h2-frames.ts';
import { createRig, type Handler, type Rig, tunnelOf, whenClosed } from '../fixture/rig.ts';

const host = 't.tunnels.test';
const internalError = 2;
const ack = 1;

/** Sends one request by hand and reads frames. */
async function request(rig: Rig): Promise<FrameReader> {
  const { visitor, reader } = await visitByFrame(rig, host);
  visitor.write(getFrame(host, 1));
  return reader;
}

const isData = ({ type, stream }: Frame): boolean => type === frameTypes.data && stream === 1;
const isReset = ({ type, stream }: Frame): boolean => type === frameTypes.rstStream && stream === 1;

function assertNotWhole({ frames }: FrameReader): void {
  const ends = frames.filter(
    ({ stream, type, flags }) => stream === 1 && type <= frameTypes.headers && (flags & endStream) !== 0,
  );
  assert.deepEqual(ends, [], 'the response looks whole');
}

const heads = {
  'with a length': 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf',
  'in chunks': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n',
  'to the end of the connection': 'HTTP/1.1 200 OK\r\n\r\nhalf',
} as const;

describe('a response over HTTP/2 that breaks off never looks whole', () => {
  for (const [name, head] of Object.entries(heads)) {
    /** Sends half of the response; the test does the rest. */
    const half =
      (upstreams: Socket[]): Handler =>
      (socket) => {
        upstreams.push(socket);
        socket.once('data', () => socket.write(head));
      };

    // RFC 9112 6.3: without a length or chunks the end of the connection is the end of the body.
    if (name !== 'to the end of the connection') {
      it(`${name}, when the upstream ends`, async () => {
        await using rig = await createRig([tunnelOf('t')]);
        const upstreams: Socket[] = [];
        await rig.client('t', half(upstreams));
        const reader = await request(rig);
        await reader.until(isData);
        upstreams[0]?.end();
        assert.equal((await reader.until(isReset))?.payload.readUInt32BE(), internalError);
        assertNotWhole(reader);
      });
    }

    it(`${name}, when the upstream resets`, async () => {
      await using rig = await createRig([tunnelOf('t')]);
      const upstreams: Socket[] = [];
      await rig.client('t', half(upstreams));
      const reader = await request(rig);
      await reader.until(isData);
      upstreams[0]?.resetAndDestroy();
      assert.equal((await reader.until(isReset))?.payload.readUInt32BE(), internalError);
      assertNotWhole(reader);
    });

    it(`${name}, when the client is lost`, async () => {
      await using rig = await createRig([tunnelOf('t')]);
      const { socket } = await rig.client('t', half([]));
      const reader = await request(rig);
      await reader.until(isData);
      socket.destroy();
      assert.equal((await reader.until(isReset))?.payload.readUInt32BE(), internalError);
      assertNotWhole(reader);
      assert.deepEqual(rig.edge.stats().errors, { UNDERPASS_CLIENT_LOST: 1 });
    });

    it(`${name}, when the upstream falls silent`, async () => {
      await using rig = await createRig([tunnelOf('t')], { timeouts: { idleStreamMs: 300 } });
      await rig.client('t', half([]));
      const reader = await request(rig);
      assert.equal((await reader.until(isReset))?.payload.readUInt32BE(), internalError);
      assertNotWhole(reader);
    });

    it(`${name}, when the visitor is cut`, async () => {
      await using rig = await createRig([tunnelOf('t')]);
      await rig.client('t', half([]));
      const reader = await request(rig);
      await reader.until(isData);
      await rig.control.change({ tunnels: [tunnelOf('t', { allowList: [] })] });
      await reader.until(() => false);
      assertNotWhole(reader);
    });

    it(`${name}, when the edge closes`, async () => {
      await using rig = await createRig([tunnelOf('t')]);
      await rig.client('t', half([]));
      const reader = await request(rig);
      await reader.until(isData);
      await rig.edge.close();
      await reader.until(() => false);
      assertNotWhole(reader);
    });
  }

  it('while its connection serves the next request', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    await rig.client('t', (socket) => void socket.once('data', () => socket.end(heads['in chunks'])));
    const { visitor, reader } = await visitByFrame(rig, host);
    for (const stream of [1, 3, 5]) {
      visitor.write(getFrame(host, stream));
      assert.ok(await reader.until((frame) => frame.type === frameTypes.rstStream && frame.stream === stream));
    }
    visitor.end();
    await whenClosed(visitor);
  });
});

describe('a visitor that breaks a rule of HTTP/2 while its other requests wait gets GOAWAY', () => {
  const protocolError = 1;
  const faults: Record<string, Buffer> = {
    'on one stream': Buffer.concat([
      encodeH2Frame(
        frameTypes.headers,
        endHeaders,
        3,
        Buffer.concat([requestFields(host, 'POST'), literal('content-length', '1')]),
      ),
      encodeH2Frame(frameTypes.data, endStream, 3, Buffer.from('five!')),
    ]),
    'on the connection': encodeH2Frame(frameTypes.data, 0, 0, Buffer.from('x')),
  };
  for (const [name, fault] of Object.entries(faults)) {
    it(name, async () => {
      await using rig = await createRig([tunnelOf('t')]);
      const asked = Promise.withResolvers<void>();
      await rig.client('t', (socket) => void socket.once('data', () => asked.resolve()));
      const { visitor, reader } = await visitByFrame(rig, host);
      visitor.write(getFrame(host, 1));
      await asked.promise;
      visitor.write(fault);
      const goaway = await reader.until(({ type }) => type === frameTypes.goaway);
      assert.equal(goaway?.payload.readUInt32BE(4), protocolError);
      await reader.until(() => false);
      await assertNothingHeld(rig);
    });
  }

  // Node aborts the process, or ends the response, if such a stream is destroyed while it reads from the connection.
  for (const [name, head] of Object.entries(heads)) {
    for (const window of [65_535, 0]) {
      it(`while it has a response ${name}, with a window of ${window}`, async () => {
        await using rig = await createRig([tunnelOf('t')]);
        await rig.client('t', (socket) => void socket.once('data', () => socket.write(head)));
        const { visitor, reader } = await visitByFrame(rig, host, setting(settingIds.initialWindowSize, window));
        visitor.write(Buffer.concat([postFrame(host, 1), encodeH2Frame(frameTypes.data, endStream, 1)]));
        await reader.until(({ type, stream }) => stream === 1 && type === (window > 0 ? frameTypes.data : frameTypes.headers));
        visitor.write(encodeH2Frame(frameTypes.ping, ack, 0, Buffer.alloc(8)));
        assert.ok(await reader.until(({ type }) => type === frameTypes.goaway));
        await reader.until(() => false);
        assertNotWhole(reader);
        await assertNothingHeld(rig);
      });
    }
  }
});

describe('a request over HTTP/2 that breaks off never looks whole to the upstream', () => {
  const cancel = 8;
  const noError = 0;
  const ways: Record<string, (visitor: Socket) => void> = {
    'when the visitor cancels': (visitor) =>
      void visitor.write(encodeH2Frame(frameTypes.rstStream, 0, 1, Buffer.from([0, 0, 0, cancel]))),
    'when the visitor resets without an error': (visitor) =>
      void visitor.write(encodeH2Frame(frameTypes.rstStream, 0, 1, Buffer.from([0, 0, 0, noError]))),
    'when the visitor ends the connection': (visitor) => void visitor.end(),
    'when the visitor is lost': (visitor) => void visitor.destroy(),
  };
  for (const [name, leave] of Object.entries(ways)) {
    it(name, async () => {
      await using rig = await createRig([tunnelOf('t')]);
      let received = '';
      const begun = Promise.withResolvers<void>();
      const over = Promise.withResolvers<void>();
      await rig.client('t', (socket) => {
        socket.on('data', (piece: Buffer) => {
          received += piece.toString('latin1');
          if (received.includes('half')) begun.resolve();
        });
        socket.on('end', () => socket.destroy()).on('close', () => over.resolve());
      });
      const { visitor } = await visitByFrame(rig, host);
      visitor.write(postFrame(host, 1));
      visitor.write(encodeH2Frame(frameTypes.data, 0, 1, Buffer.from('half')));
      await begun.promise;
      leave(visitor);
      await over.promise;
      assert.match(received, /transfer-encoding: chunked/i);
      assert.ok(received.endsWith('4\r\nhalf\r\n'), JSON.stringify(received.slice(-40)));
    });
  }
});
