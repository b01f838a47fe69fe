// Quick tunnels: who gets which address, for how long, and what ends them.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Domain, Tunnel } from '@underpass/rules/entity/entity.ts';
import type { AuditPage, OperatorTunnel } from '@underpass/rules/entity/resource.ts';
import { secondWords } from '@underpass/rules/text/word-list.ts';
import { pino } from 'pino';
import { createTestControl, type SignedUp, type TestClient, type TestControl } from '../../test-kit.ts';
import { type ExpiryDeps, expireTunnels, knowsClients } from './expiry.ts';

const minuteMs = 60_000;
const key = 'k'.repeat(43);

let test: TestControl;
let ann: SignedUp;

beforeEach(async () => {
  test = await createTestControl({ settings: { quickTunnels: 3 } });
  ann = await test.signUp('ann@example.com');
});
afterEach(() => test.close());

const path = (rest: string, who = ann) => `/api/${rest}?project=${who.projectId}`;
const start = (who: TestClient, body: object = {}, project = ann.projectId) =>
  who.send('POST', `/api/quick-tunnels?project=${project}`, { key, ...body });
async function started(who: TestClient, body: object = {}, project = ann.projectId): Promise<Tunnel> {
  const answer = await start(who, body, project);
  assert.equal(answer.status, 200, await answer.clone().text());
  return (await answer.json()) as Tunnel;
}
const hostOf = ({ ingressDomains }: Tunnel) => ingressDomains.map(({ name }) => name).join();
const list = () => ann.call<Tunnel[]>('GET', path('tunnels'));
const idOf = async (name: string) =>
  (await test.store.db.selectFrom('tunnels').select('id').where('name', '=', name).executeTakeFirstOrThrow()).id;
const audit = async () => (await ann.call<AuditPage>('GET', path('audit'))).entries;
const keepByHand = (name: string) => ann.call<Tunnel>('POST', path(`tunnels/${name}/keep`));

describe('a chosen address', () => {
  beforeEach(async () => {
    await test.close();
    test = await createTestControl({ settings: { quickTunnels: 3, chosenNames: true } });
    ann = await test.signUp('ann@example.com');
  });
  const isGenerated = (tunnel: Tunnel) => assert.match(hostOf(tunnel), /^[a-z]+-[a-z]+-[a-z2-7]{10}\.tunnels\.localhost$/);
  const end = (name: string) => ann.call('DELETE', `${path(`tunnels/${name}`)}&unkept=1`);

  it('is the name, and stays with its project for 90 days', async () => {
    const bob = await test.signUp('bob@example.com');
    const byBob = (folder: string) => started(bob, { name: 'docs', key: folder.repeat(43) }, bob.projectId);
    assert.equal(hostOf(await started(ann, { name: 'docs' })), 'docs.tunnels.localhost');
    isGenerated(await byBob('a'));
    await end('docs');
    await test.store.db.deleteFrom('tunnels').where('project_id', '=', bob.projectId).execute();
    isGenerated(await byBob('b'));
    assert.equal(hostOf(await started(ann, { name: 'docs' })), 'docs.tunnels.localhost');
    await end('docs');
    await test.store.db.deleteFrom('tunnels').where('project_id', '=', bob.projectId).execute();
    test.time.now += 90 * 24 * 60 * minuteMs + 1;
    const eve = await test.signUp('eve@example.com');
    assert.equal(hostOf(await started(eve, { name: 'docs' }, eve.projectId)), 'docs.tunnels.localhost');
  });

  it('is generated for a reserved name, one like a generated one, and one that is too long for a label', async () => {
    for (const name of ['login', `amber-${secondWords[0]}`, 'xn--80ak6aa92e', 'a'.repeat(64)]) {
      isGenerated(await started(ann, { name }));
      await end(name);
    }
  });

  it('is generated for a blocked name', async () => {
    const block = { id: 'b', kind: 'name', value: 'docs.tunnels.localhost', reason: '', created_by: '', created_at: 1 } as const;
    await test.store.db.insertInto('blocks').values(block).execute();
    isGenerated(await started(ann, { name: 'docs' }));
  });

  it('is bounded: a person gets 20 names a day', async () => {
    await test.close();
    test = await createTestControl({ settings: { chosenNames: true }, limited: true });
    ann = await test.signUp('ann@example.com');
    for (let i = 0; i < 20; i++) {
      await started(ann, { name: `name${i}` });
      await end(`name${i}`);
    }
    assert.equal((await start(ann, { name: 'name20' })).status, 429);
  });
});

describe('the address', () => {
  it('is the same for the same person and folder, also after the tunnel was deleted', async () => {
    const first = await started(ann);
    assert.match(hostOf(first), /^[a-z]+-[a-z]+-[a-z2-7]{10}\.tunnels\.localhost$/);
    assert.equal(hostOf(first), `${first.name}.tunnels.localhost`);
    await ann.call('DELETE', `${path(`tunnels/${first.name}`)}&unkept=1`);
    assert.deepEqual(await list(), []);
    const second = await started(ann);
    assert.equal(hostOf(second), hostOf(first));
    assert.notEqual(second.token, first.token);
  });

  it('differs for another folder, name, project and person, who send the same key', async () => {
    const bob = await test.signUp('bob@example.com');
    await test.addMember(ann.projectId, bob.userId, 'member');
    const own = await started(ann);
    const others = [
      await started(ann, { key: 'l'.repeat(43) }),
      await started(ann, { name: 'api' }),
      await started(bob),
      await started(bob, {}, bob.projectId),
    ];
    assert.equal(new Set([own, ...others].map(hostOf)).size, 5);
  });

  it('cannot be asked for as an ingress domain, by another project or the same one', async () => {
    const bob = await test.signUp('bob@example.com');
    const host = hostOf(await started(ann));
    await ann.call('DELETE', path(`tunnels/${host.split('.')[0]}`));
    for (const who of [ann, bob]) {
      const answer = await who.send('POST', `/api/tunnels?project=${who.projectId}`, {
        ...{ name: 'thief', region: 'local', ingressDomains: [host] },
      });
      assert.equal(answer.status, 400);
      assert.equal((await start(who, { ingressDomains: [host] }, who.projectId)).status, 400);
    }
  });

  it('does not tell the key, and no answer shows the person', async () => {
    const text = JSON.stringify([await started(ann), await audit()]);
    assert.equal(text.includes(key), false);
    assert.equal(text.includes(ann.userId), false);
  });

  it('is of the named domains instead, if there are any', async () => {
    const tunnel = await started(ann, { ingressDomains: ['app.example.com'] });
    assert.equal(hostOf(tunnel), 'app.example.com');
    assert.equal(tunnel.status, 'Pending');
  });
});

describe('a second start', () => {
  it('takes the tunnel that is there, with its token, and does not count twice', async () => {
    const first = await started(ann);
    test.time.now += minuteMs;
    const second = await started(ann);
    assert.equal(second.token, first.token);
    assert.equal((await list()).length, 1);
    assert.equal(Date.parse(second.expiresAt!) - Date.parse(first.expiresAt!), minuteMs);
  });

  it('leaves a kept tunnel kept, and its group and domains as somebody set them', async () => {
    const { name } = await started(ann);
    await ann.call('POST', path('security-groups'), { name: 'office', allow: ['192.0.2.1'] });
    await ann.call('PATCH', path(`tunnels/${name}`), { securityGroup: 'office', ingressDomains: ['app.example.com'] });
    await keepByHand(name);
    const again = await started(ann, { lastsSeconds: 3600 });
    assert.deepEqual(
      [again.securityGroup, hostOf(again), again.expiresAt, again.endsAt],
      ['office', 'app.example.com', undefined, undefined],
    );
  });

  it('changes the group that it names', async () => {
    await started(ann);
    await ann.call('POST', path('security-groups'), { name: 'office', allow: ['192.0.2.1'] });
    assert.equal((await started(ann, { securityGroup: 'office' })).securityGroup, 'office');
    assert.equal((await started(ann)).securityGroup, 'office');
  });

  it('is refused while the operator has suspended the tunnel', async () => {
    const { name } = await started(ann);
    await test.control.operator.changeTunnel(await idOf(name), { suspended: true });
    assert.equal((await start(ann)).status, 403);
  });

  it('of twenty at once makes one tunnel', async () => {
    const names = await Promise.all(Array.from({ length: 20 }, async () => (await started(ann)).name));
    assert.equal(new Set(names).size, 1);
    assert.equal((await list()).length, 1);
  });
});

describe('the domain of a named address', () => {
  const apexes = async () => (await ann.call<Domain[]>('GET', path('domains'))).map(({ apexName }) => apexName);
  const remove = (name: string) => ann.call('DELETE', path(`tunnels/${name}`));
  const app = { ingressDomains: ['app.example.com'] };

  it('goes with the tunnel, so that it can be added later', async () => {
    const { name } = await started(ann, app);
    assert.deepEqual(await apexes(), ['example.com']);
    await remove(name);
    assert.deepEqual(await apexes(), []);
    await ann.call('POST', path('domains'), { name: 'example.com' });
  });

  it('goes with a tunnel that names it at a second start', async () => {
    await started(ann);
    await remove((await started(ann, app)).name);
    assert.deepEqual(await apexes(), []);
  });

  it('stays until the last tunnel under it has gone', async () => {
    const { name } = await started(ann, app);
    await ann.call('POST', path('tunnels'), { name: 'shop', region: 'local', ingressDomains: ['shop.example.com'] });
    await remove(name);
    assert.deepEqual(await apexes(), ['example.com']);
    await remove('shop');
    assert.deepEqual(await apexes(), []);
  });

  it('can be added while the tunnel is there, keeps its challenge, and stays', async () => {
    const { name } = await started(ann, app);
    const [before] = await ann.call<Domain[]>('GET', path('domains'));
    const added = await ann.call<Domain>('POST', path('domains'), { name: 'example.com' });
    assert.equal(added.challenge, before!.challenge);
    assert.equal((await ann.send('POST', path('domains'), { name: 'example.com' })).status, 409);
    await remove(name);
    assert.deepEqual(await apexes(), ['example.com']);
  });

  it('stays once somebody has tried to verify it: its record may be on its way', async () => {
    const { name } = await started(ann, app);
    await ann.call('POST', path('domains/example.com/verify'));
    await remove(name);
    assert.deepEqual(await apexes(), ['example.com']);
  });

  it('stays if it was there before, and if an ordinary tunnel made it', async () => {
    await ann.call('POST', path('domains'), { name: 'example.com' });
    await remove((await started(ann, app)).name);
    await ann.call('POST', path('tunnels'), { name: 'shop', region: 'local', ingressDomains: ['shop.example.org'] });
    await remove('shop');
    assert.deepEqual(await apexes(), ['example.com', 'example.org']);
  });
});

describe('refusals', () => {
  it('a viewer may start none and keep none', async () => {
    const eve = await test.signUp('eve@example.com');
    await test.addMember(ann.projectId, eve.userId, 'viewer');
    const { name } = await started(ann);
    assert.equal((await start(eve)).status, 403);
    assert.equal((await eve.send('POST', path(`tunnels/${name}/keep`))).status, 403);
  });

  it('an API token of a member may, and another project is closed to it', async () => {
    const bob = await test.signUp('bob@example.com');
    const { token } = await ann.call<{ token: string }>('POST', path('tokens'), { name: 'ci', role: 'member' });
    assert.equal((await start(test.client(token))).status, 200);
    assert.equal((await start(test.client(token), {}, bob.projectId)).status, 404);
  });

  it('a name that another tunnel has', async () => {
    await ann.call('POST', path('tunnels'), { name: 'shop', region: 'local' });
    const answer = await start(ann, { name: 'shop' });
    assert.deepEqual([answer.status, await answer.text()], [409, "Tunnel 'shop' already exists"]);
  });

  it('more at once than one person may have, over all projects; kept ones do not count', async () => {
    const { id: second } = await ann.call<{ id: string }>('POST', '/api/projects', { name: 'Second' });
    const first = await started(ann);
    await started(ann, { name: 'b' });
    const { name: other } = await started(ann, {}, second);
    const answer = await start(ann, { name: 'c' }, second);
    assert.deepEqual(
      [answer.status, await answer.text()],
      [
        409,
        `You may have at most 3 quick tunnels at once. Stop or keep one of them: ${other}, 2 in other projects. Its client stops with Ctrl-C; "underpass tunnels rm NAME" deletes it from elsewhere.`,
      ],
    );
    assert.equal((await start(ann)).status, 200, 'the one that is there');
    await keepByHand(first.name);
    assert.equal((await start(ann, { name: 'c' }, second)).status, 200);
  });

  it('more tunnels than the project may have', async () => {
    await test.control.operator.changeProject(ann.projectId, { limits: { tunnels: 1 } });
    await started(ann);
    assert.equal((await start(ann, { name: 'b' })).status, 409);
  });

  it('a short key, an end that is too far, an end for a kept tunnel, an unknown region', async () => {
    for (const body of [{ key: 'k' }, { lastsSeconds: 31 * 86_400 }, { lastsSeconds: 60, keep: true }, { region: 'mars' }])
      assert.equal((await start(ann, body)).status, 400, JSON.stringify(body));
  });

  it('all, where the operator has switched them off', async (t) => {
    const off = await createTestControl({ settings: { quickTunnels: 0 } });
    t.after(off.close);
    const bob = await off.signUp('bob@example.com');
    const answer = await start(bob, {}, bob.projectId);
    assert.equal(answer.status, 400);
    assert.match(await answer.text(), /switched quick tunnels off/);
  });
});

describe('keeping', () => {
  it('removes the expiry, once, and the client at its end deletes nothing', async () => {
    const { name } = await started(ann, { lastsSeconds: 3600 });
    const kept = await keepByHand(name);
    await keepByHand(name);
    assert.deepEqual([kept.expiresAt, kept.endsAt], [undefined, undefined]);
    assert.equal((await audit()).filter(({ action }) => action === 'tunnel.keep').length, 1);
    const answer = await ann.send('DELETE', `${path(`tunnels/${name}`)}&unkept=1`);
    assert.deepEqual([answer.status, await answer.text()], [409, `Tunnel '${name}' is kept`]);
    assert.equal((await list()).length, 1);
    await ann.call('DELETE', path(`tunnels/${name}`));
  });

  it('from the start', async () => {
    assert.equal((await started(ann, { keep: true })).expiresAt, undefined);
  });

  it('of an ordinary tunnel changes nothing, and unkept=1 does not delete it', async () => {
    await ann.call('POST', path('tunnels'), { name: 'shop', region: 'local' });
    assert.equal((await keepByHand('shop')).expiresAt, undefined);
    assert.equal((await ann.send('DELETE', `${path('tunnels/shop')}&unkept=1`)).status, 409);
    assert.equal((await ann.send('DELETE', `${path('tunnels/shop')}&unkept=yes`)).status, 400);
  });
});

describe('the expiry', () => {
  const deps = (): ExpiryDeps => ({ ...test, clock: () => test.time.now, log: pino({ level: 'silent' }) });
  const pass = () => expireTunnels(deps());
  const wait = async (minutes: number) => {
    for (let i = 0; i < minutes; i++) {
      test.time.now += minuteMs;
      await pass();
    }
  };
  const client = { id: 'c', address: '192.0.2.9', version: '', since: '', edge: 'e', rttMs: 1, healthy: true };
  const names = async () => (await list()).map(({ name }) => name);
  const stored = async () =>
    (await test.store.db.selectFrom('tunnels').select('name').orderBy('id').execute()).map(({ name }) => name);
  /** An edge of the region that has been there for an hour, and serves at once. */
  const seeRegion = () => {
    test.feed.isServing = () => true;
    const since = new Date(test.time.now - 3600_000).toISOString();
    const edge = {
      id: 'e',
      region: 'local',
      version: '',
      connected: true,
      since,
      lastSeenAt: since,
      acknowledged: true,
      clients: 0,
    };
    test.feed.knownEdges.splice(0, 9, edge);
    return edge;
  };

  it('deletes a tunnel five minutes after its client, as a user would', async () => {
    seeRegion();
    const { name } = await started(ann);
    const id = await idOf(name);
    test.feed.connected.set(id, [client]);
    await wait(30);
    assert.deepEqual(await names(), [name], 'carried');
    test.feed.connected.clear();
    test.feed.changed.length = 0;
    await wait(2);
    assert.deepEqual(await names(), [name], 'a short interruption');
    await wait(4);
    assert.deepEqual(await names(), []);
    assert.deepEqual(test.feed.changed, [id]);
    const { actor, action, target, detail } = (await audit())[0]!;
    assert.deepEqual([actor, action, target], ['underpass', 'tunnel.delete', name]);
    assert.deepEqual(detail, { reason: 'no client is connected' });
  });

  it('comes at the end that the person set, connected or not', async () => {
    seeRegion();
    const { name, endsAt } = await started(ann, { lastsSeconds: 600 });
    assert.equal(Date.parse(endsAt!) - test.time.now, 600_000);
    test.feed.connected.set(await idOf(name), [client]);
    await wait(9);
    assert.deepEqual(await names(), [name]);
    await wait(1);
    assert.deepEqual(await names(), []);
  });

  it('leaves kept, suspended and ordinary tunnels', async () => {
    seeRegion();
    const { name: kept } = await started(ann);
    await keepByHand(kept);
    const { name: bad } = await started(ann, { name: 'bad' });
    await test.control.operator.changeTunnel(await idOf(bad), { suspended: true });
    await ann.call('POST', path('tunnels'), { name: 'shop', region: 'local' });
    await wait(60);
    assert.deepEqual((await names()).toSorted(), ['bad', 'shop', kept].toSorted());
  });

  it('waits while nobody knows the clients: no edge, a silent one, or one that has just come', async () => {
    const { name } = await started(ann);
    await wait(15);
    assert.deepEqual(await names(), [name], 'no edge');
    Object.assign(seeRegion(), { connected: false });
    await wait(15);
    assert.deepEqual(await names(), [name], 'a silent edge');
    Object.assign(seeRegion(), { since: new Date(test.time.now).toISOString() });
    await wait(1);
    assert.deepEqual(await names(), [name], 'a new edge');
    await wait(6);
    assert.deepEqual(await names(), []);
  });

  it('a jump of the clock deletes nothing that a client carries, and a large one nothing at all', async () => {
    seeRegion();
    const [carried, lone] = [await started(ann), await started(ann, { name: 'lone' })];
    test.feed.connected.set(await idOf(carried.name), [client]);
    await pass();
    test.time.now += 3600_000;
    await pass();
    assert.deepEqual(await stored(), [carried.name]);
    await started(ann, { name: 'lone' });
    test.time.now += 40 * 86_400_000;
    await wait(10);
    assert.deepEqual((await stored()).toSorted(), [carried.name, lone.name].toSorted());
  });

  it('of many passes at once deletes once', async () => {
    seeRegion();
    await started(ann);
    test.time.now += 10 * minuteMs;
    await Promise.all(Array.from({ length: 5 }, pass));
    assert.equal((await audit()).filter(({ action }) => action === 'tunnel.delete').length, 1);
  });

  it('shows to every role, and to the operator', async () => {
    const viewer = await test.signUp('eve@example.com', { operator: true });
    await test.addMember(ann.projectId, viewer.userId, 'viewer');
    const { name, expiresAt } = await started(ann);
    const [seen] = await viewer.call<Tunnel[]>('GET', path('tunnels'));
    assert.deepEqual([seen?.name, seen?.expiresAt, seen?.token], [name, expiresAt, undefined]);
    const [known] = await viewer.call<OperatorTunnel[]>('GET', '/api/operator/tunnels');
    assert.equal(known?.expiresAt, expiresAt);
  });
});

it('the clients of a region are known once all its edges have been there for a minute', () => {
  const at = Date.UTC(2026, 10, 20);
  const edge = (region: string, connected: boolean, ageMs: number) => ({
    ...{ id: 'e', version: '', lastSeenAt: '', acknowledged: true, clients: 0 },
    ...{ region, connected, since: new Date(at - ageMs).toISOString() },
  });
  assert.equal(knowsClients([], 'eu', at), false);
  assert.equal(knowsClients([edge('us', true, 90_000)], 'eu', at), false);
  assert.equal(knowsClients([edge('eu', true, 90_000), edge('us', false, 0)], 'eu', at), true);
  assert.equal(knowsClients([edge('eu', true, 90_000), edge('eu', false, 90_000)], 'eu', at), false);
  assert.equal(knowsClients([edge('eu', true, 90_000), edge('eu', true, 1000)], 'eu', at), false);
});
