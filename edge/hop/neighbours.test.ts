// Tests to which neighbour a visitor's stream goes, with fake neighbours.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TunnelType } from '@underpass/rules/tunnel/tunnel-type.ts';
import type { Session } from '@underpass/wire/api.ts';
import { defaultTimeouts } from '../limits/timeouts.ts';
import { TunnelState } from '../routes/tunnel-state.ts';
import type { Neighbour, Standing } from './neighbour.ts';
import { Neighbours } from './neighbours.ts';

interface FakeNeighbour {
  /** The standing before a dial; `later` is the one after. */
  standing: Standing;
  later?: Standing;
  connected: boolean;
  reachable?: boolean;
  /** A dial never ends. */
  silent?: boolean;
  dials?: number;
}

const none: ReadonlySet<Session> = new Set();
/** Longer than a busy machine pauses: news of a client ends the waits here, not time. */
const patientMs = 60_000;

function createScene(...neighbours: FakeNeighbour[]) {
  const sessions = neighbours.map((_, index) => ({ canOpen: true, index }) as unknown as Session);
  const made = neighbours.map((neighbour, index) => ({
    get session() {
      return neighbour.connected ? sessions[index] : null;
    },
    standing: () => neighbour.standing,
    async open() {
      neighbour.dials = (neighbour.dials ?? 0) + 1;
      await (neighbour.silent ? new Promise(() => {}) : Promise.resolve());
      if (neighbour.reachable === false) return null;
      neighbour.connected = true;
      neighbour.standing = neighbour.later ?? neighbour.standing;
      return sessions[index];
    },
  }));
  const hopsWith = (waitMs: number, aloneMs = 0): Neighbours =>
    new Neighbours(
      () => made as unknown as Iterable<Neighbour>,
      (isAlone) => (isAlone ? aloneMs : waitMs),
    );
  const tunnelOf = (type: TunnelType): TunnelState =>
    new TunnelState({ id: 't', type, allowList: [], hosts: [], tokens: [] } as never);
  const tunnel = tunnelOf('http');
  const indexOf = (session: Session | null): number => (session === null ? -1 : sessions.indexOf(session));
  return { hops: hopsWith(patientMs), hopsWith, tunnel, tunnelOf, sessions, indexOf };
}

it('that knows no tcp tunnels gets no stream of one', async () => {
  const { hopsWith, tunnelOf, sessions, indexOf } = createScene(
    { standing: 'working', connected: true },
    { standing: 'working', connected: true },
  );
  Object.assign(sessions[0] as Session, { peerInfo: {} });
  Object.assign(sessions[1] as Session, { peerInfo: { tcp: true } });
  const tunnel = tunnelOf('tcp');
  assert.equal(indexOf(hopsWith(0).working(tunnel, none)), 1);
  assert.equal(indexOf(await hopsWith(0).next(tunnel, none)), 1);
  assert.equal(indexOf(await hopsWith(0).next(tunnel, new Set([sessions[1] as Session]))), -1);
  assert.equal(indexOf(hopsWith(0).working(tunnelOf('http'), none)), 0);
});

describe('a neighbour whose client is known to work', () => {
  it('is chosen before nearer neighbours whose clients may not work', async () => {
    const { hops, tunnel, indexOf } = createScene(
      { standing: 'doubtful', connected: true },
      { standing: 'working', connected: true },
      { standing: 'working', connected: true },
    );
    assert.equal(indexOf(hops.working(tunnel, none)), 1);
    assert.equal(indexOf(await hops.next(tunnel, none)), 1);
  });

  it('is not tried twice for one visitor', async () => {
    const { hops, tunnel, sessions, indexOf } = createScene(
      { standing: 'working', connected: true },
      { standing: 'doubtful', connected: true },
    );
    assert.equal(hops.working(tunnel, new Set([sessions[0] as Session])), null);
    assert.equal(indexOf(await hops.next(tunnel, new Set([sessions[0] as Session]))), 1);
    assert.equal(await hops.next(tunnel, new Set(sessions)), null);
  });

  it('is dialled while the visitor goes elsewhere', () => {
    const neighbour: FakeNeighbour = { standing: 'unknown', connected: false };
    const { hops, tunnel } = createScene(neighbour);
    assert.equal(hops.working(tunnel, none), null);
    assert.equal(neighbour.dials, 1);
  });
});

describe('if no client is known to work', () => {
  it('a client that may not work is chosen before a neighbour without offers', async () => {
    const { hops, tunnel, indexOf } = createScene(
      { standing: 'unknown', connected: true },
      { standing: 'doubtful', connected: true },
    );
    assert.equal(indexOf(await hops.next(tunnel, none)), 1);
  });

  it('neighbours without offers are dialled, and skipped once they offer nothing', async () => {
    const neighbours: FakeNeighbour[] = [
      { standing: 'unknown', later: 'none', connected: false },
      { standing: 'unknown', connected: false, reachable: false },
      { standing: 'unknown', later: 'doubtful', connected: false },
    ];
    const { hops, tunnel, indexOf } = createScene(...neighbours);
    assert.equal(indexOf(await hops.next(tunnel, none)), 2);
  });

  it('a neighbour that does not answer does not delay the next', async () => {
    const { hops, tunnel, indexOf } = createScene(
      { standing: 'unknown', connected: false, silent: true },
      { standing: 'unknown', later: 'working', connected: false },
    );
    const waited = new Promise((resolve) => setImmediate(resolve, 'still waiting'));
    const found = await Promise.race([hops.next(tunnel, none), waited]);
    assert.equal(indexOf(found as Session), 1);
  });

  it('a neighbour that offers no client is not dialled', async () => {
    const neighbour: FakeNeighbour = { standing: 'none', connected: true };
    const { hops, tunnel, sessions } = createScene(neighbour);
    assert.equal(await hops.next(tunnel, new Set([sessions[0] as Session])), null);
    assert.equal(neighbour.dials, undefined);
  });
});

describe('if no neighbour has a client', () => {
  /** Ends without a timer. */
  async function assertAtOnce<T>(task: Promise<T>): Promise<T> {
    let over = false;
    void task.then(() => {
      over = true;
    });
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(over, true, 'it waits');
    return task;
  }

  it('a visitor waits briefly, and gets a client that connects elsewhere or here', async () => {
    for (const here of [false, true]) {
      const neighbour: FakeNeighbour = { standing: 'none', connected: true };
      const { hops, tunnel, indexOf } = createScene(neighbour);
      const found = hops.next(tunnel, none);
      await new Promise((resolve) => setImmediate(resolve));
      hops.clientsChanged();
      await new Promise((resolve) => setImmediate(resolve));
      if (here) tunnel.clients.push({ session: { takesStreams: true } } as never);
      else neighbour.standing = 'working';
      hops.clientsChanged();
      assert.equal(indexOf(await assertAtOnce(found)), here ? -1 : 0);
    }
  });

  it('the wait ends', async () => {
    const { hopsWith, tunnel } = createScene({ standing: 'none', connected: true });
    const begun = performance.now();
    assert.equal(await hopsWith(defaultTimeouts.clientWaitMs).next(tunnel, none), null);
    const tookMs = performance.now() - begun;
    assert.ok(tookMs >= 200 && tookMs < 10_000, `${tookMs} ms`);
  });

  it('a visitor does not wait if it has tried a client, or if there are no neighbours', async () => {
    const { hops, tunnel } = createScene({ standing: 'none', connected: true });
    assert.equal(await assertAtOnce(hops.next(tunnel, new Set([{} as Session]))), null);
    assert.equal(await assertAtOnce(createScene().hops.next(tunnel, none)), null);
  });

  it('a visitor waits for a client to come back after a restart, also without neighbours', async () => {
    const { hopsWith, tunnel } = createScene();
    const hops = hopsWith(patientMs, patientMs);
    const found = hops.next(tunnel, none);
    await new Promise((resolve) => setImmediate(resolve));
    hops.clientsChanged();
    tunnel.clients.push({ session: { takesStreams: true } } as never);
    hops.clientsChanged();
    assert.equal(await assertAtOnce(found), null, 'the dialer takes the client of this process');
  });
});
