import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Carrier } from './carrier.ts';
import { ReconnectingCarrier } from './reconnecting-carrier.ts';

function fakeCarrier() {
  const session = {
    drained: false,
    closed: false,
    onGoaway: (): void => {},
    drain(): void {
      session.drained = true;
    },
  };
  return { session, edge: 'one', address: '', sinceMs: 0, onEnd: (): void => {} };
}

async function connect() {
  const dialled: ReturnType<typeof fakeCarrier>[] = [];
  const clock = { nowMs: 0, now: () => clock.nowMs, every: () => () => {} };
  const member = new ReconnectingCarrier({
    clock,
    random: () => 0,
    async dial() {
      const fresh = fakeCarrier();
      dialled.push(fresh);
      return fresh as unknown as Carrier;
    },
    isDuplicate: () => false,
    onConnected: () => {},
    onDisconnected: () => {},
    onFailed: () => {},
  });
  member.start();
  await new Promise(setImmediate);
  return { member, dialled, clock };
}

describe('a carrier that has become slow', () => {
  it('is drained once its successor is there', async () => {
    const { member, dialled } = await connect();
    const renewed = member.renew();
    assert.deepEqual([member.current, dialled[0]?.session.drained], [dialled[0], false]);
    await renewed;
    assert.deepEqual([member.current, dialled[0]?.session.drained], [dialled[1], true]);
  });

  it('is renewed at most once a minute', async () => {
    const { member, dialled, clock } = await connect();
    await member.renew();
    clock.nowMs = 59_999;
    await member.renew();
    assert.equal(dialled.length, 2);
    clock.nowMs = 60_000;
    await member.renew();
    assert.equal(dialled.length, 3);
  });

  it('stays if the client has stopped before its successor came', async () => {
    const { member, dialled } = await connect();
    const renewed = member.renew();
    member.stop();
    await renewed;
    assert.deepEqual(
      dialled.map(({ session }) => session.drained),
      [false, true],
    );
  });
});
