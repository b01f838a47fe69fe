// Certificates that projects give, by their calls and up to what edges get: whose they may be, what they serve, when they end.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { OwnCertificate } from '@underpass/rules/entity/resource.ts';
import { dayMs } from '@underpass/rules/limits.ts';
import { readTunnelNames } from '../../edges/certificate/certificate-rows.ts';
import { readNameCertificates } from '../../edges/certificate/name-certificates.ts';
import { type Issued, issue } from '../../edges/certificate/test-kit-chain.ts';
import { Regions } from '../../edges/feed/regions.ts';
import { StateReader } from '../../edges/feed/state-reader.ts';
import { testKeyRing } from '../../edges/feed/test-kit.ts';
import { resealAll } from '../../operator/sealed-rows.ts';
import { createTestControl, type SignedUp, type TestControl } from '../../test-kit.ts';

let test: TestControl;
let ann: SignedUp;
let bob: SignedUp;
let root: Issued;
let reader: StateReader;
let regions: Regions;
let count = 0;

const keyRing = testKeyRing();
function ignore() {}

before(async () => {
  test = await createTestControl({ keyRing });
  ann = await test.signUp('ann@example.com');
  bob = await test.signUp('bob@example.com');
  root = await issue('Root', test.time.now, undefined);
});
after(() => test.close());

beforeEach(() => {
  regions = new Regions({
    ...{ now: Date.now, steady: Date.now, lateMs: 1_000, peersOf: () => [], keyOpens: async () => true },
    ...{ onHeld: ignore, onGone: ignore, onHeard: ignore, onReport: ignore, onVisitorLog: ignore, onRefused: ignore },
  });
  const { store } = test;
  const clock = () => test.time.now;
  reader = new StateReader({
    ...{ store, keyRing, clock, origin: '', givenCertificates: () => [], onLive: ignore, regions, rest: async () => {} },
  });
});

interface Made {
  readonly name: string;
  readonly host: string;
  readonly apex: string;
}

async function make(who: SignedUp, { type = 'http', apex = `apex-${++count}.com`, verify = true } = {}): Promise<Made> {
  const [name, host] = [`t${++count}`, `app.${apex}`];
  const project = `project=${who.projectId}`;
  await who.call('POST', `/api/tunnels?${project}`, { name, region: 'local', type, ingressDomains: [host] });
  if (verify) {
    test.dns.proofs.set(apex, 'found');
    await who.call('POST', `/api/domains/${apex}/verify?${project}`);
  }
  return { name, host, apex };
}

const pathOf = (who: SignedUp, { name, host }: Made) =>
  `/api/tunnels/${name}/domains/${host}/certificate?project=${who.projectId}`;

async function bodyFor(host: string, days = 90, fallback?: boolean) {
  const until = test.time.now + days * dayMs;
  const leaf = await issue('leaf', test.time.now, root, { hosts: [host, 'victim.example.net'], until });
  return { chain: leaf.pem, privateKey: leaf.keyPem, ...(fallback === undefined ? {} : { fallback }) };
}

const give = async (who: SignedUp, made: Made, days?: number, fallback?: boolean) =>
  who.call<OwnCertificate>('POST', pathOf(who, made), await bodyFor(made.host, days, fallback));

const idOf = async ({ name }: Made) =>
  (await test.store.db.selectFrom('tunnels').select('id').where('name', '=', name).executeTakeFirstOrThrow()).id;
const sent = (host: string): readonly string[] => regions.open('local').state.certificateIds(host);
const wanted = async (): Promise<readonly string[]> =>
  (await readTunnelNames(test.store.db, test.time.now)).map(({ name }) => name);

describe('a certificate of the project', () => {
  it('is shown without its key, which no row but its own sealed column holds', async () => {
    const made = await make(ann);
    const body = await bodyFor(made.host);
    const saved = await ann.call<OwnCertificate>('POST', pathOf(ann, made), body);
    assert.deepEqual([saved.names, saved.issuer, saved.keyType], [[made.host, 'victim.example.net'], 'Root', 'ECDSA P-256']);
    assert.match(saved.warning ?? '', /Add the certificate of ‘Root’/);
    const shown = await ann.call<{ certificate: OwnCertificate }>('GET', pathOf(ann, made));
    assert.deepEqual(shown.certificate, saved);
    const line = body.privateKey.split('\n')[1]!;
    const rows = [
      ...(await test.store.db.selectFrom('own_certificates').selectAll().execute()),
      ...(await test.store.db.selectFrom('audit').selectAll().execute()),
    ];
    for (const text of [...test.logged, JSON.stringify([saved, shown]), JSON.stringify(rows)]) assert.ok(!text.includes(line));
    assert.match(JSON.stringify(rows), /certificate\.set/);
    assert.equal(await resealAll(test.store.db, keyRing, test.time.now), 0);
  });

  it('serves its own domain alone, whatever names it has, and is no order of the authority', async () => {
    const made = await make(ann);
    assert.ok((await wanted()).includes(made.host));
    await give(ann, made);
    assert.ok(!(await wanted()).includes(made.host));
    await reader.everything(async () => {});
    assert.equal(sent(made.host).length, 1);
    assert.deepEqual(sent('victim.example.net'), []);
    const { own, until } = (await readNameCertificates(test.store.db, [], [made.host], test.time.now)).get(made.host)!;
    assert.deepEqual([own, until! > test.time.now], [true, true]);
  });

  it('leaves the edges as soon as it is replaced or removed, also by one that ends earlier', async () => {
    const made = await make(ann);
    const id = await idOf(made);
    await give(ann, made, 90);
    await reader.tunnels([id]);
    const [first] = sent(made.host);
    await give(ann, made, 10);
    await reader.tunnels([id]);
    assert.equal(sent(made.host).length, 1);
    assert.notEqual(sent(made.host)[0], first);
    await ann.call('DELETE', pathOf(ann, made));
    await reader.tunnels([id]);
    assert.deepEqual(sent(made.host), []);
    assert.ok((await wanted()).includes(made.host), 'the authority is asked again');
    assert.deepEqual(await ann.call('GET', pathOf(ann, made)), {});
  });

  it('does not serve the next owner of the name', async () => {
    const apex = `moving-${++count}.com`;
    const old = await make(ann, { apex });
    await give(ann, old);
    await reader.everything(async () => {});
    assert.equal(sent(old.host).length, 1);
    const lost = test.store.db.updateTable('domains').set({ verified_at: null, owned_apex: null }).where('apex_name', '=', apex);
    await lost.execute();
    await test.store.db.updateTable('tunnel_hosts').set({ live_host: null }).where('apex_name', '=', apex).execute();
    const next = await make(bob, { apex });
    await reader.tunnels([await idOf(next)]);
    assert.deepEqual(sent(next.host), []);
    await reader.everything(async () => {});
    assert.deepEqual(sent(next.host), []);
    assert.ok((await wanted()).includes(next.host));
  });

  it('of an unverified name touches nothing of the project that has it', async () => {
    const apex = `claimed-${++count}.com`;
    const early = await make(bob, { apex, verify: false });
    const owner = await make(ann, { apex });
    const sealed = { chain_pem: 'chain', key_sealed: 'x', issuer: 'test', starts_at: 1, expires_at: 1e15, created_at: 1 };
    const row = { id: `c${++count}`, name: owner.host, hosts: JSON.stringify([owner.host]), ...sealed };
    await test.store.db.insertInto('certificates').values(row).execute();
    await give(bob, early, 90, false);
    assert.ok(await test.store.db.selectFrom('certificates').select('id').where('id', '=', row.id).executeTakeFirst());
    await give(ann, owner, 90, false);
    assert.equal(
      await test.store.db.selectFrom('certificates').select('id').where('id', '=', row.id).executeTakeFirst(),
      undefined,
    );
  });

  it('is followed by one of the authority, ordered a day before its end, by choice alone', async () => {
    const made = await make(ann);
    await give(ann, made, 1.5, true);
    assert.ok(!(await wanted()).includes(made.host));
    test.time.now += 0.6 * dayMs;
    assert.ok((await wanted()).includes(made.host));
    await ann.call('PATCH', pathOf(ann, made), { fallback: false });
    test.time.now += 2 * dayMs;
    assert.ok(!(await wanted()).includes(made.host));
  });

  it('goes with its domain and with its tunnel', async () => {
    const rows = async (id: string) =>
      (await test.store.db.selectFrom('own_certificates').select('id').where('tunnel_id', '=', id).execute()).length;
    const made = await make(ann);
    const id = await idOf(made);
    const path = `/api/tunnels/${made.name}?project=${ann.projectId}`;
    await give(ann, made);
    await ann.call('PATCH', path, { ingressDomains: [made.host, `b.${made.apex}`] });
    assert.equal(await rows(id), 1);
    await ann.call('PATCH', path, { ingressDomains: [`b.${made.apex}`] });
    assert.equal(await rows(id), 0);
    await give(ann, { ...made, host: `b.${made.apex}` });
    await ann.call('DELETE', path);
    assert.equal(await rows(id), 0);
  });
});

describe('refused', () => {
  const status = async (who: SignedUp, made: Made, project = who.projectId) => {
    const path = pathOf(who, made).replace(who.projectId, project);
    return (await who.send('POST', path, await bodyFor(made.host))).status;
  };

  it('in other projects, for viewers, for names that the tunnel has not', async () => {
    const made = await make(ann);
    assert.equal(await status(bob, made), 404);
    assert.equal(await status(bob, made, ann.projectId), 404);
    await test.addMember(ann.projectId, bob.userId, 'viewer');
    assert.equal(await status(bob, made, ann.projectId), 403);
    assert.equal(await status(ann, { ...made, host: `other.${made.apex}` }), 404);
  });

  it('where TLS does not end at the edge, and for names of the service', async () => {
    assert.equal(await status(ann, await make(ann, { type: 'ingress' })), 400);
    const name = `t${++count}`;
    const path = `/api/tunnels?project=${ann.projectId}`;
    await ann.call('POST', path, { name, region: 'local', ingressDomains: [] });
    const { host } = await test.store.db
      .selectFrom('tunnel_hosts as h')
      .innerJoin('tunnels as t', 't.id', 'h.tunnel_id')
      .select('h.host')
      .where('t.name', '=', name)
      .executeTakeFirstOrThrow();
    assert.equal(await status(ann, { name, host, apex: '' }), 400);
  });
});
