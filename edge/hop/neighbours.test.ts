// Which other place a visitor's stream goes to, of places that are made up.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Session } from '@underpass/wire/api.ts';
import { defaultTimeouts } from '../limits/timeouts.ts';
import { TunnelState } from '../routes/tunnel-state.ts';
import type { Neighbour, Standing } from './neighbour.ts';
import { Neighbours } from './neighbours.ts';

interface Place {
  /** As it is told before anybody dials, and after. */
  standing: Standing;
  later?: Standing;
  connected: boolean;
  reachable?: boolean;
  /** Dialling it takes for ever. */
  silent?: boolean;
  dials?: number;
}

const none: ReadonlySet<Session> = new Set();
/** Longer than a busy machine stands still: what ends a wait here is word of a client, not time. */
const patientMs = 60_000;

function createScene(...neighbours: Place[]) {
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
  const hopsWith = (clientWaitMs: number): Neighbours =>
    new Neighbours(() => made as unknown as Iterable<Neighbour>, clientWaitMs);
  const tunnel = new TunnelState({ id: 't', allowList: [], hosts: [], tokens: [] } as never);
  const indexOf = (session: Session | null): number => (session === null ? -1 : sessions.indexOf(session));
  return { hops: hopsWith(patientMs), hopsWith, tunnel, sessions, indexOf };
}

describe('a place whose client is known to work', () => {
  it('is the first of those, whatever nearer ones have that may not work', async () => {
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

  it('is dialled beside the visitor that does not wait for it', () => {
    const neighbour: Place = { standing: 'unknown', connected: false };
    const { hops, tunnel } = createScene(neighbour);
    assert.equal(hops.working(tunnel, none), null);
    assert.equal(neighbour.dials, 1);
  });
});

describe('where no client is known to work', () => {
  it('one that may not work is taken before a place that has not said', async () => {
    const { hops, tunnel, indexOf } = createScene(
      { standing: 'unknown', connected: true },
      { standing: 'doubtful', connected: true },
    );
    assert.equal(indexOf(await hops.next(tunnel, none)), 1);
  });

  it('places that have not said are asked, and believed when they say that they have none', async () => {
    const neighbours: Place[] = [
      { standing: 'unknown', later: 'none', connected: false },
      { standing: 'unknown', connected: false, reachable: false },
      { standing: 'unknown', later: 'doubtful', connected: false },
    ];
    const { hops, tunnel, indexOf } = createScene(...neighbours);
    assert.equal(indexOf(await hops.next(tunnel, none)), 2);
  });

  it('a place that does not answer keeps nobody from the next', async () => {
    const { hops, tunnel, indexOf } = createScene(
      { standing: 'unknown', connected: false, silent: true },
      { standing: 'unknown', later: 'working', connected: false },
    );
    const waited = new Promise((resolve) => setImmediate(resolve, 'still waiting'));
    const found = await Promise.race([hops.next(tunnel, none), waited]);
    assert.equal(indexOf(found as Session), 1);
  });

  it('a place that has said that it has none is not asked', async () => {
    const neighbour: Place = { standing: 'none', connected: true };
    const { hops, tunnel, sessions } = createScene(neighbour);
    assert.equal(await hops.next(tunnel, new Set([sessions[0] as Session])), null);
    assert.equal(neighbour.dials, undefined);
  });
});

describe('where no place has a client', () => {
  /** Needs no timer to come to its end. */
  async function assertAtOnce<T>(task: Promise<T>): Promise<T> {
    let over = false;
    void task.then(() => {
      over = true;
    });
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(over, true, 'it waits');
    return task;
  }

  it('word of one that comes within a moment is enough, from elsewhere or from here', async () => {
    for (const here of [false, true]) {
      const neighbour: Place = { standing: 'none', connected: true };
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

  it('the moment ends', async () => {
    const { hopsWith, tunnel } = createScene({ standing: 'none', connected: true });
    const begun = performance.now();
    assert.equal(await hopsWith(defaultTimeouts.clientWaitMs).next(tunnel, none), null);
    const tookMs = performance.now() - begun;
    assert.ok(tookMs >= 200 && tookMs < 10_000, `${tookMs} ms`);
  });

  it('nobody waits who has met a client already, or where there are no places', async () => {
    const { hops, tunnel } = createScene({ standing: 'none', connected: true });
    assert.equal(await assertAtOnce(hops.next(tunnel, new Set([{} as Session]))), null);
    assert.equal(await assertAtOnce(createScene().hops.next(tunnel, none)), null);
  });
});
