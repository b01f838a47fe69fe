// Responses that are whole before their request is: an upload that the upstream refuses, for example.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  assertNothingHeld,
  encodeH2Frame,
  endStream,
  type Frame,
  frameTypes,
  postFrame,
  setting,
  settingIds,
  u32,
  visitByFrame,
} from '../fixture/h2-frames.ts';
import { createRig, tunnelOf } from '../fixture/rig.ts';

const host = 't.tunnels.test';
const noError = 0;
const internalError = 2;
const body = 'x'.repeat(100_000);

const responses = {
  'with a length': `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  'in chunks': `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  'in chunks with trailers': `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nx-sum: 1\r\n\r\n`,
  'in empty chunks': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
  'without a body': 'HTTP/1.1 204 No Content\r\n\r\n',
  'with a length of 0': 'HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n',
} as const;

const isReset = ({ type, stream }: Frame): boolean => type === frameTypes.rstStream && stream === 1;

describe('a response to a request that has not ended', () => {
  for (const [name, response] of Object.entries(responses)) {
    it(`${name} arrives whole, and then the visitor is told to stop`, async () => {
      await using rig = await createRig([tunnelOf('t')]);
      await rig.client('t', (socket) => void socket.once('data', () => socket.write(response)));
      const { visitor, reader } = await visitByFrame(rig, host, setting(settingIds.initialWindowSize, 10));
      visitor.write(postFrame(host, 1));
      await reader.until(({ type, stream }) => type === frameTypes.headers && stream === 1);
      visitor.write(encodeH2Frame(frameTypes.windowUpdate, 0, 1, u32(body.length)));
      visitor.write(encodeH2Frame(frameTypes.windowUpdate, 0, 0, u32(body.length)));
      const reset = await reader.until(isReset);
      assert.equal(reset?.payload.readUInt32BE(), noError);
      const before = reader.frames[reader.frames.indexOf(reset as Frame) - 1];
      assert.deepEqual([before?.stream, (before?.flags ?? 0) & endStream], [1, endStream], 'the response looks broken off');
      visitor.destroy();
      await assertNothingHeld(rig);
    });
  }

  for (const [name, response] of Object.entries(responses)) {
    if (name === 'without a body' || name === 'with a length of 0') continue;
    it(`${name} is reset in time when the visitor never opens its window`, async () => {
      await using rig = await createRig([tunnelOf('t')], { timeouts: { stallMs: 300 } });
      await rig.client('t', (socket) => void socket.once('data', () => socket.write(response)));
      const { visitor, reader } = await visitByFrame(rig, host, setting(settingIds.initialWindowSize, 0));
      visitor.write(postFrame(host, 1));
      assert.equal((await reader.until(isReset))?.payload.readUInt32BE(), internalError);
      visitor.destroy();
      await assertNothingHeld(rig);
    });
  }

  it('as long as the window arrives whole once the window opens for its end', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    await rig.client('t', (socket) => void socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\n0123456789')));
    const { visitor, reader } = await visitByFrame(rig, host, setting(settingIds.initialWindowSize, 10));
    visitor.write(postFrame(host, 1));
    await reader.until(({ type, stream }) => type === frameTypes.data && stream === 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(reader.frames.find(isReset), undefined, 'the response looks broken off');
    visitor.write(encodeH2Frame(frameTypes.windowUpdate, 0, 1, u32(1)));
    assert.ok(await reader.until(({ stream, flags }) => stream === 1 && (flags & endStream) !== 0));
    visitor.destroy();
    await assertNothingHeld(rig);
  });
});
