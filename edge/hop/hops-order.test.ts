// Which other place a visitor's stream goes to, of places that are made up.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Session } from '@underpass/wire/api.ts';
import { TunnelState } from '../routes/tunnel-state.ts';
import { defaultTimeouts } from '../visitor/visitor-context.ts';
import type { HopSession, Standing } from './hop-session.ts';
import { Hops } from './hops.ts';

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

function createScene(...places: Place[]) {
  const sessions = places.map((_, index) => ({ canOpen: true, index }) as unknown as Session);
  const made = places.map((place, index) => ({
    get session() {
      return place.connected ? sessions[index] : null;
    },
    standing: () => place.standing,
    async open() {
      place.dials = (place.dials ?? 0) + 1;
      await (place.silent ? new Promise(() => {}) : Promise.resolve());
      if (place.reachable === false) return null;
      place.connected = true;
      place.standing = place.later ?? place.standing;
      return sessions[index];
    },
  }));
  const hopsWith = (newsMs: number): Hops => new Hops(() => made as unknown as Iterable<HopSession>, newsMs);
  const tunnel = new TunnelState({ id: 't', allowList: [], hosts: [], tokens: [] } as never);
  const indexOf = (session: Session | null): number => (session === null ? -1 : sessions.indexOf(session));
  return { hops: hopsWith(patientMs), hopsWith, tunnel, sessions, indexOf };
}

describe('a place whose client is known to work', () => {
  it('is the first of those, whatever nearer ones have that may not work', async () => {
    const { hops, tunnel, indexOf } = createScene(
      { standing: 'held', connected: true },
      { standing: 'sound', connected: true },
      { standing: 'sound', connected: true },
    );
    assert.equal(indexOf(hops.sound(tunnel, none)), 1);
    assert.equal(indexOf(await hops.next(tunnel, none)), 1);
  });

  it('is not tried twice for one visitor', async () => {
    const { hops, tunnel, sessions, indexOf } = createScene(
      { standing: 'sound', connected: true },
      { standing: 'held', connected: true },
    );
    assert.equal(hops.sound(tunnel, new Set([sessions[0] as Session])), null);
    assert.equal(indexOf(await hops.next(tunnel, new Set([sessions[0] as Session]))), 1);
    assert.equal(await hops.next(tunnel, new Set(sessions)), null);
  });

  it('is dialled beside the visitor that does not wait for it', () => {
    const place: Place = { standing: 'unknown', connected: false };
    const { hops, tunnel } = createScene(place);
    assert.equal(hops.sound(tunnel, none), null);
    assert.equal(place.dials, 1);
  });
});

describe('where no client is known to work', () => {
  it('one that may not work is taken before a place that has not said', async () => {
    const { hops, tunnel, indexOf } = createScene(
      { standing: 'unknown', connected: true },
      { standing: 'held', connected: true },
    );
    assert.equal(indexOf(await hops.next(tunnel, none)), 1);
  });

  it('places that have not said are asked, and believed when they say that they have none', async () => {
    const places: Place[] = [
      { standing: 'unknown', later: 'none', connected: false },
      { standing: 'unknown', connected: false, reachable: false },
      { standing: 'unknown', later: 'held', connected: false },
    ];
    const { hops, tunnel, indexOf } = createScene(...places);
    assert.equal(indexOf(await hops.next(tunnel, none)), 2);
  });

  it('a place that does not answer keeps nobody from the next', async () => {
    const { hops, tunnel, indexOf } = createScene(
      { standing: 'unknown', connected: false, silent: true },
      { standing: 'unknown', later: 'sound', connected: false },
    );
    const waited = new Promise((resolve) => setImmediate(resolve, 'still waiting'));
    const found = await Promise.race([hops.next(tunnel, none), waited]);
    assert.equal(indexOf(found as Session), 1);
  });

  it('a place that has said that it has none is not asked', async () => {
    const place: Place = { standing: 'none', connected: true };
    const { hops, tunnel, sessions } = createScene(place);
    assert.equal(await hops.next(tunnel, new Set([sessions[0] as Session])), null);
    assert.equal(place.dials, undefined);
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
      const place: Place = { standing: 'none', connected: true };
      const { hops, tunnel, indexOf } = createScene(place);
      const found = hops.next(tunnel, none);
      await new Promise((resolve) => setImmediate(resolve));
      hops.heard();
      await new Promise((resolve) => setImmediate(resolve));
      if (here) tunnel.clients.push({ session: { takesStreams: true } } as never);
      else place.standing = 'sound';
      hops.heard();
      assert.equal(indexOf(await assertAtOnce(found)), here ? -1 : 0);
    }
  });

  it('the moment ends', async () => {
    const { hopsWith, tunnel } = createScene({ standing: 'none', connected: true });
    const begun = performance.now();
    assert.equal(await hopsWith(defaultTimeouts.newsMs).next(tunnel, none), null);
    const tookMs = performance.now() - begun;
    assert.ok(tookMs >= 200 && tookMs < 10_000, `${tookMs} ms`);
  });

  it('nobody waits who has met a client already, or where there are no places', async () => {
    const { hops, tunnel } = createScene({ standing: 'none', connected: true });
    assert.equal(await assertAtOnce(hops.next(tunnel, new Set([{} as Session]))), null);
    assert.equal(await assertAtOnce(createScene().hops.next(tunnel, none)), null);
  });
});
