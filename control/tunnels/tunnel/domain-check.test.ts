// The check of a tunnel's domains by its call, and the attacks on it: as an open resolver, by slow name servers, by floods, as a
// window into other projects. What DNS answers, inside addresses included, is tested in dns/.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CheckedDomain, TunnelDomains } from '@underpass/rules/entity/resource.ts';
import { createTestControl, type SignedUp, type TestControl } from '../../test-kit.ts';

let test: TestControl;
let ann: SignedUp;
let bob: SignedUp;
let count = 0;

before(async () => {
  test = await createTestControl();
  ann = await test.signUp('ann@example.com');
  bob = await test.signUp('bob@example.com');
  test.dns.addresses.set('local.localhost', ['192.0.2.1']);
});
after(() => test.close());

interface Made {
  readonly tunnel: string;
  readonly apex: string;
}

/** A tunnel with these names under an apex of its own. */
async function make(
  control: TestControl,
  who: SignedUp,
  labels: readonly string[],
  verified = true,
  type = 'ingress',
): Promise<Made> {
  const [tunnel, apex] = [`t${++count}`, `apex-${count}.com`];
  const project = `project=${who.projectId}`;
  const ingressDomains = labels.map((label) => `${label}.${apex}`);
  await who.call('POST', `/api/tunnels?${project}`, { name: tunnel, region: 'local', type, ingressDomains });
  if (verified) {
    control.dns.proofs.set(apex, 'found');
    await who.call('POST', `/api/domains/${apex}/verify?${project}`);
  }
  return { tunnel, apex };
}

const pathOf = (who: SignedUp, { tunnel }: Made, rest = '') => `/api/tunnels/${tunnel}/domains?project=${who.projectId}${rest}`;
const check = (who: SignedUp, made: Made, rest = '') => who.call<TunnelDomains>('GET', pathOf(who, made, rest));
const labels = (most: number) => Array.from({ length: most }, (_, at) => `n${at}`);
const outcomes = ({ domains }: TunnelDomains) => domains.map(({ ips, unchecked }) => unchecked ?? ips?.join() ?? '');
async function settle() {
  for (let turns = 0; turns < 300; turns++) await nextTurn();
}

describe('200', () => {
  it('answers for all names of a tunnel in their order, and for the region', async () => {
    const made = await make(test, ann, ['here', 'silent', 'none']);
    test.dns.addresses.set(`here.${made.apex}`, ['192.0.2.1']).set(`silent.${made.apex}`, 'unknown');
    const answer = await check(ann, made);
    assert.equal(answer.dataPlaneHost, 'local.localhost');
    assert.deepEqual(answer.dataPlaneIps, ['192.0.2.1']);
    assert.deepEqual(answer.domains, [
      { name: `here.${made.apex}`, ips: ['192.0.2.1'] },
      { name: `silent.${made.apex}`, unchecked: 'unanswered' },
      { name: `none.${made.apex}`, ips: [] },
    ] satisfies CheckedDomain[]);
  });

  it('shows the certificates of verified names of http tunnels, and looks up no generated name', async () => {
    const made = await make(test, ann, ['www'], true, 'http');
    assert.deepEqual((await check(ann, made)).domains[0]?.certificate, { lastOrderFailed: false });
    await ann.call('POST', `/api/tunnels?project=${ann.projectId}`, { name: 'generated', region: 'local' });
    const asked = test.dns.looked.length;
    const { domains } = await check(ann, { tunnel: 'generated', apex: '' });
    assert.deepEqual([domains[0]?.ips, domains[0]?.unchecked], [undefined, undefined]);
    assert.ok(test.dns.looked.slice(asked).every((host) => host === 'local.localhost'));
  });
});

describe('as an open resolver', () => {
  it('a host that the tunnel does not have gets 404 and costs no DNS query', async () => {
    const made = await make(test, ann, ['www']);
    const others = await make(test, bob, ['www']);
    const asked = test.dns.looked.length;
    for (const host of [...labels(1_000).map((label) => `${label}.${made.apex}`), `www.${others.apex}`, 'localhost'])
      assert.equal((await ann.send('GET', pathOf(ann, made, `&host=${encodeURIComponent(host)}`))).status, 404, host);
    assert.equal((await ann.send('GET', pathOf(ann, others))).status, 404);
    for (const odd of ['&fresh=yes', '&host=127.0.0.1', '&host=a%20b'])
      assert.equal((await ann.send('GET', pathOf(ann, made, odd))).status, 400, odd);
    assert.equal(test.dns.looked.length, asked);
  });

  it('a name of an unverified domain is looked up only by itself, for a day, within the limit of new domains', async () => {
    const own = await createTestControl({ limited: true });
    const eve = await own.signUp('eve@example.com');
    const made = await make(own, eve, ['www', 'a'], false);
    assert.deepEqual(outcomes(await check(eve, made)), ['unverified', 'unverified']);
    assert.deepEqual(own.dns.looked, ['local.localhost']);
    const second = own.client();
    const link = new URL(await own.control.operator.createLoginLink(eve.email));
    await second.call('POST', '/auth/login', new URLSearchParams({ token: link.pathname.split('/').at(-1)! }));
    const one = (who: SignedUp) => check(who, made, `&host=www.${made.apex}`);
    const found: string[] = [];
    for (const browser of [eve, { ...eve, ...second }])
      for (let at = 0; at < 255; at++) found.push(...outcomes(await one(browser)));
    assert.deepEqual(found, [...Array(500).fill(''), ...Array(10).fill('limited')]);
    own.time.now += 24 * 3600_000;
    assert.deepEqual(outcomes(await one(eve)), ['unverified']);
    await own.close();
  });
});

describe('by slow name servers', () => {
  it('a silent zone holds one turn of its caller, and holds up nobody else', async (t) => {
    const dead = await make(test, ann, labels(20));
    const live = await make(test, ann, labels(20));
    const names = [...labels(20).map((label) => `${label}.${dead.apex}`), ...labels(20).map((label) => `x${label}.${live.apex}`)];
    await ann.call('POST', `/api/tunnels?project=${ann.projectId}`, {
      name: 'half-dead',
      region: 'local',
      type: 'ingress',
      ingressDomains: names.map((name) => `y${name}`),
    });
    const silence = Promise.withResolvers<'unknown'>();
    const lookup = test.dns.lookup;
    t.after(() => {
      silence.resolve('unknown');
      test.dns.lookup = lookup;
    });
    const asked: string[] = [];
    test.dns.lookup = (host) => {
      asked.push(host);
      return host.endsWith(dead.apex) ? silence.promise : Promise.resolve(['192.0.2.1']);
    };
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const answer = check(ann, { tunnel: 'half-dead', apex: '' });
    await settle();
    assert.equal(asked.filter((host) => host.endsWith(dead.apex)).length, 1);
    assert.equal(asked.filter((host) => host.endsWith(live.apex)).length, 20);
    assert.deepEqual(outcomes(await check(bob, await make(test, bob, ['www']))), ['192.0.2.1']);
    t.mock.timers.tick(3_000);
    assert.deepEqual(outcomes(await answer), [...Array(20).fill('unanswered'), ...Array(20).fill('192.0.2.1')]);
    silence.resolve('unknown');
    await settle();
    assert.equal(asked.filter((host) => host.endsWith(dead.apex)).length, 1, 'the rest is not asked after the answer');
    assert.equal(test.dns.hosts.recent(asked.find((host) => host.endsWith(dead.apex))!), 'unknown', 'the late answer is kept');
  });
});

describe('by many silent zones', () => {
  it('a live zone waits for no zone that was silent before, and a zone that answers again is checked', async (t) => {
    const zones: string[] = [];
    for (let made = 0; made < 9; made++) zones.push((await make(test, ann, ['www'])).apex);
    const [live, ...dead] = zones.toReversed();
    const ingressDomains = [...dead, live].map((apex) => `many.${apex}`);
    const project = `project=${ann.projectId}`;
    await ann.call('POST', `/api/tunnels?${project}`, { name: 'many-dead', region: 'local', type: 'ingress', ingressDomains });
    const silent = new Set(dead);
    const open: (() => void)[] = [];
    const lookup = test.dns.lookup;
    t.after(() => {
      test.dns.lookup = lookup;
    });
    test.dns.lookup = async (host) => {
      if (!silent.has(host.slice('many.'.length))) return ['192.0.2.1'];
      await new Promise<void>((resolve) => open.push(resolve));
      return 'unknown';
    };
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const checkOnce = async () => {
      const answer = check(ann, { tunnel: 'many-dead', apex: '' });
      await settle();
      t.mock.timers.tick(3_000);
      const found = outcomes(await answer);
      for (const end of open.splice(0)) end();
      await settle();
      test.time.now += 13_000;
      return found;
    };
    await checkOnce();
    await checkOnce();
    assert.equal((await checkOnce()).at(-1), '192.0.2.1');
    silent.delete(dead[7]!);
    await checkOnce();
    assert.equal((await checkOnce())[7], '192.0.2.1');
  });
});

describe('by floods', () => {
  it('callers share one question for a host, and its answer for a moment unless they ask for a fresh one', async () => {
    const made = await make(test, ann, ['www']);
    await test.addMember(ann.projectId, bob.userId, 'viewer');
    const asked = () => test.dns.looked.filter((host) => host === `www.${made.apex}`).length;
    const asBob = { ...bob, projectId: ann.projectId };
    await Promise.all(Array.from({ length: 50 }, (_, at) => check(at % 2 === 0 ? ann : asBob, made)));
    assert.equal(asked(), 1);
    await check(ann, made, '&fresh=1');
    assert.equal(asked(), 2);
    test.time.now += 10_000;
    await check(asBob, made);
    assert.equal(asked(), 3);
  });

  it('beyond the limit a name is not checked, rather than without DNS', async () => {
    const own = await createTestControl({ limited: true });
    const eve = await own.signUp('eve@example.com');
    const made = await make(own, eve, labels(50));
    for (const label of labels(50)) own.dns.addresses.set(`${label}.${made.apex}`, ['192.0.2.1']);
    const found: string[] = [];
    for (let round = 0; round < 7; round++) found.push(...outcomes(await check(eve, made, '&fresh=1')));
    assert.deepEqual([...new Set(found)], ['192.0.2.1', 'limited']);
    // One allowance went to the proof of the domain, and one in each call to the region.
    assert.equal(found.filter((outcome) => outcome !== 'limited').length, 300 - 1 - 6);
    assert.ok(outcomes(await check(eve, made)).includes('192.0.2.1'), 'recent answers cost nothing');
    await own.close();
  });
});
