import assert from 'node:assert/strict';
import { randomBytes, X509Certificate } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createWithLease } from '../../../platform/store/lease.ts';
import type { Store } from '../../../platform/store/store.ts';
import { createDns } from '../../dns/dns.ts';
import { createResolver } from '../../dns/resolver.ts';
import { FeedHub } from '../../feed/hub.ts';
import {
  addProject,
  addRegion,
  addTunnel,
  connectEdge,
  createTestBus,
  openMemoryStore,
  silentLog,
  type TestEdge,
  testKeyRing,
} from '../../feed/test-kit.ts';
import type { Authority } from '../authority.ts';
import { dropChallenge, saveChallenge } from '../certificate-rows.ts';
import { createDnsHook } from '../dns-hook.ts';
import { createDnsUpdater, type DnsUpdater } from '../rfc2136/updater.ts';
import {
  type ChallengePorts,
  dropFolder,
  makeFolder,
  openChallengePorts,
  startDns,
  startPebble,
  startResolver,
  type TestAuthority,
  type TestDns,
} from '../test-kit.ts';
import { createUpkeep, type Upkeep } from '../upkeep.ts';
import { createAcmeAuthority } from './authority.ts';
import { createAccountKeyPem, type ExternalAccount } from './jws.ts';

const zone = 'example.test';
const keyRing = testKeyRing();
const accountKey = createAccountKeyPem();
const signal = new AbortController().signal;

const target = `0123456789abcdef.proofs.${zone}`;
let folder: string;
let dns: TestDns;
let ports: ChallengePorts;
let pebble: TestAuthority;
let store: Store;
let hub: FeedHub;
let edge: TestEdge;
let tunnel: (name: string, hosts: readonly string[], type?: 'http' | 'ingress') => Promise<string>;

before(async () => {
  folder = await makeFolder();
  dns = await startDns(folder, zone, [`_acme-challenge.apps CNAME ${target}.`]);
  ports = await openChallengePorts(() => edge.state.challenges);
  pebble = await startPebble(folder, dns.port, ports);
});
after(async () => {
  await Promise.all([pebble.close(), dns.close(), ports.close()]);
  await dropFolder(folder);
});

const closers: (() => Promise<unknown> | unknown)[] = [];
after(async () => {
  for (const close of closers.reverse()) await close();
});

beforeEach(async () => {
  store = await openMemoryStore();
  await addRegion(store.db, 'eu', { host: `eu.${zone}`, wildcard: `tunnels.${zone}` });
  const ids = await addProject(store.db, 'ann');
  tunnel = (name, hosts, type = 'http') => addTunnel(store.db, { ...ids, region: 'eu', name, hosts, type });
  hub = new FeedHub({
    store,
    bus: createTestBus(),
    keyRing,
    clock: Date.now,
    log: silentLog,
    givenCertificates: () => [],
    origin: 'https://console.example.com',
    keyOpens: async () => true,
  });
  await hub.start();
  edge = connectEdge((duplex) => hub.accept(duplex, { region: 'eu' }));
  edge.hello('eu');
  const [itsHub, itsStore, itsEdge] = [hub, store, edge];
  closers.push(
    () => itsStore.close(),
    () => itsHub.close(),
    () => itsEdge.close(),
  );
});

function openAuthority(
  over: {
    withDns?: boolean;
    delegation?: Pick<DnsUpdater, 'change'>;
    pebble?: TestAuthority;
    externalAccount?: ExternalAccount;
  } = {},
): Authority {
  const { directory, ca } = over.pebble ?? pebble;
  const server = { address: '127.0.0.1', port: dns.port };
  return createAcmeAuthority({
    directory,
    ca,
    ...(over.externalAccount === undefined ? {} : { externalAccount: over.externalAccount }),
    email: 'ops@example.com',
    accountKey: async () => accountKey,
    showAtEdges: async (region, challenge) => {
      await saveChallenge(store, keyRing, region, challenge, Date.now());
      hub.challengesChanged();
      await hub.delivered(region);
      return async () => {
        await dropChallenge(store, challenge.id);
        hub.challengesChanged();
      };
    },
    ...(over.withDns === false ? {} : { dns: createDnsUpdater({ server, zone, key: dns.key, clock: Date.now }) }),
    ...(over.delegation === undefined ? {} : { delegation: { zone: `proofs.${zone}`, ...over.delegation } }),
    dnsSettleMs: 0,
    clock: Date.now,
  });
}

function openUpkeep(authority: Authority, over: { pointsHere?: (name: string) => Promise<boolean> } = {}): Upkeep {
  const upkeep = createUpkeep({
    store,
    keyRing,
    clock: Date.now,
    log: silentLog,
    authority,
    givenCertificates: () => [],
    budget: { overall: 240, perProject: 40 },
    pointsHere: over.pointsHere ?? (async () => true),
    withLease: createWithLease(store, Date.now),
    onIssued: (name) => hub.certificatesChanged([name]),
  });
  closers.push(() => upkeep.close());
  return upkeep;
}

const certificateNames = (): string[] => edge.state.certificates.flatMap((certificate) => certificate.hosts).sort();

describe('an ACME authority (pebble)', () => {
  test('issues after http-01 through the feed, and removes the challenge', async () => {
    const authority = openAuthority();
    const issued = await authority.issue({ name: `shop.${zone}`, region: 'eu', failures: 0, signal });
    const leaf = new X509Certificate(issued.chainPem);
    assert.equal(leaf.subjectAltName, `DNS:shop.${zone}`);
    assert.ok(ports.asked.includes(`http-01 shop.${zone}`));
    await hub.delivered('eu');
    assert.deepEqual(edge.state.challenges, [], 'the challenge is removed');
  });

  test('issues after tls-alpn-01 through the feed once http-01 has failed', async () => {
    const issued = await openAuthority().issue({ name: `alpn.${zone}`, region: 'eu', failures: 1, signal });
    assert.equal(new X509Certificate(issued.chainPem).subjectAltName, `DNS:alpn.${zone}`);
    assert.ok(ports.asked.includes(`tls-alpn-01 alpn.${zone}`));
    assert.ok(!ports.asked.includes(`http-01 alpn.${zone}`));
  });

  test('issues a wildcard after dns-01 with RFC 2136 updates', async () => {
    const issued = await openAuthority().issue({ name: `*.tunnels.${zone}`, region: 'eu', failures: 0, signal });
    assert.equal(new X509Certificate(issued.chainPem).subjectAltName, `DNS:*.tunnels.${zone}`);
  });

  test('cannot issue a wildcard outside the zone that it may write to', () => {
    assert.equal(openAuthority().canIssue('*.example.org'), false);
    assert.equal(openAuthority({ withDns: false }).canIssue(`*.tunnels.${zone}`), false);
    assert.equal(openAuthority({ withDns: false }).canIssue('www.example.org'), true);
  });

  test('rejects with a code when the authority cannot see the proof', async () => {
    const blind = createAcmeAuthority({
      directory: pebble.directory,
      ca: pebble.ca,
      accountKey: async () => accountKey,
      showAtEdges: async () => async () => {},
      clock: Date.now,
    });
    await assert.rejects(blind.issue({ name: `blind.${zone}`, region: 'eu', failures: 0, signal }), { code: 'not-proven' });
  });

  test('binds the account to an external one, and is refused with a wrong key (RFC 8555 7.3.4)', async () => {
    const hmacKey = randomBytes(32).toString('base64url');
    const bindingFolder = await makeFolder();
    const binding = await startPebble(bindingFolder, dns.port, ports, { 'kid-1': hmacKey });
    closers.push(
      () => dropFolder(bindingFolder),
      () => binding.close(),
    );
    const issueWith = (externalAccount?: ExternalAccount) =>
      openAuthority({ pebble: binding, ...(externalAccount === undefined ? {} : { externalAccount }) }).issue({
        name: `bound.${zone}`,
        region: 'eu',
        failures: 0,
        signal,
      });
    await assert.rejects(issueWith(), { code: 'refused' });
    await assert.rejects(issueWith({ keyId: 'kid-1', hmacKey: randomBytes(32).toString('base64url') }), { code: 'refused' });
    const issued = await issueWith({ keyId: 'kid-1', hmacKey });
    assert.equal(new X509Certificate(issued.chainPem).subjectAltName, `DNS:bound.${zone}`);
  });

  test('rejects with a code when the authority is unreachable', async () => {
    const gone = createAcmeAuthority({
      directory: 'https://localhost:1/dir',
      accountKey: async () => accountKey,
      showAtEdges: async () => async () => {},
      clock: Date.now,
    });
    await assert.rejects(gone.issue({ name: `gone.${zone}`, region: 'eu', failures: 0, signal }), { code: 'unreachable' });
  });
});

describe('RFC 2136 updates (knot)', () => {
  const updater = (secret: string) =>
    createDnsUpdater({
      server: { address: '127.0.0.1', port: dns.port },
      zone,
      key: { name: 'update-key', secret },
      clock: Date.now,
    });

  test('reports NOTAUTH for a wrong key', async () => {
    const wrong = updater(Buffer.alloc(32, 1).toString('base64'));
    await assert.rejects(wrong.change({ name: `_acme-challenge.x.${zone}`, value: 'v', action: 'add' }), /answered NOTAUTH/);
  });

  test('reports NOTZONE for a name outside the zone', async () => {
    await assert.rejects(
      updater(dns.key.secret).change({ name: '_acme-challenge.example.org', value: 'v', action: 'add' }),
      /answered NOTZONE/,
    );
  });
});

describe('upkeep with an ACME authority', () => {
  test('orders our own host and wildcard and the verified hosts of http tunnels, and nothing else', async () => {
    hub.tunnelsChanged([await tunnel('web', [`www.${zone}`])]);
    await tunnel('made', [`brave-otter.tunnels.${zone}`]);
    await tunnel('passed', [`raw.${zone}`], 'ingress');
    const pending = await tunnel('pending', [`pending.${zone}`]);
    await store.db.updateTable('tunnel_hosts').set({ live_host: null }).where('tunnel_id', '=', pending).execute();
    const stopped = await tunnel('stopped', [`stopped.${zone}`]);
    await store.db.updateTable('tunnels').set({ suspended_at: 1 }).where('id', '=', stopped).execute();
    await openUpkeep(openAuthority()).run();
    await hub.delivered('eu');
    assert.deepEqual(certificateNames(), [`*.tunnels.${zone}`, `eu.${zone}`, `www.${zone}`]);
    for (const name of ['raw', 'pending', 'stopped', 'brave-otter.tunnels'])
      assert.ok(!ports.asked.includes(`http-01 ${name}.${zone}`));
  });

  test('never orders a host that does not point at us', async () => {
    await tunnel('web', [`astray.${zone}`]);
    await openUpkeep(openAuthority(), { pointsHere: async (name) => name !== `astray.${zone}` }).run();
    assert.ok(!ports.asked.some((line) => line.endsWith(` astray.${zone}`)));
    const attempts = await store.db.selectFrom('certificate_attempts').select('name').execute();
    assert.ok(!attempts.some((attempt) => attempt.name === `astray.${zone}`));
  });
});

describe('the wildcard of a user, whose record leads the proof to a name of ours', () => {
  const wildcard = `*.apps.${zone}`;
  const request = () => ({ name: wildcard, region: 'eu', failures: 0, signal: AbortSignal.timeout(60_000), proofName: target });
  const updater = () =>
    createDnsUpdater({ server: { address: '127.0.0.1', port: dns.port }, zone, key: dns.key, clock: Date.now });

  test('is issued by way of the CNAME, and the proof is taken back', async () => {
    const changed: string[] = [];
    const delegation = {
      change: async (change: Parameters<DnsUpdater['change']>[0]) => {
        changed.push(`${change.action} ${change.name}`);
        await updater().change(change);
      },
    };
    const authority = openAuthority({ withDns: false, delegation });
    assert.equal(authority.delegationZone, `proofs.${zone}`);
    const { chainPem } = await authority.issue(request());
    assert.equal(new X509Certificate(chainPem).subjectAltName, `DNS:${wildcard}`);
    assert.deepEqual(changed, [`add ${target}`, `delete ${target}`]);
    const resolver = createResolver({ servers: [{ address: '127.0.0.1', port: dns.port }] });
    const names = createDns({ resolver, ownHosts: async () => [] });
    assert.equal(await names.alias(`_acme-challenge.apps.${zone}`), target);
    assert.equal(await names.alias(`_acme-challenge.other.${zone}`), undefined);
    assert.deepEqual(await resolver.txt(target), []);
    resolver.close();
  });

  test('is issued by a resolver that follows the CNAME from the zone of the user into that of the operator', async (t) => {
    const theirs = await makeFolder();
    t.after(() => dropFolder(theirs));
    const customer = await startDns(theirs, 'customer.test', [`_acme-challenge.apps CNAME ${target}.`]);
    const unbound = await startResolver(theirs, [customer, dns]);
    const authorityFolder = await makeFolder();
    const other = await startPebble(authorityFolder, unbound.port, ports);
    t.after(() => Promise.all([customer.close(), unbound.close(), other.close(), dropFolder(authorityFolder)]));
    const resolver = createResolver({ servers: [{ address: '127.0.0.1', port: unbound.port }] });
    assert.equal(await createDns({ resolver, ownHosts: async () => [] }).alias('_acme-challenge.apps.customer.test'), target);
    const authority = openAuthority({ pebble: other, withDns: false, delegation: updater() });
    const { chainPem } = await authority.issue({ ...request(), name: '*.apps.customer.test' });
    assert.equal(new X509Certificate(chainPem).subjectAltName, 'DNS:*.apps.customer.test');
    assert.deepEqual(await resolver.txt('_acme-challenge.apps.customer.test'), [], 'the proof is taken back');
    await assert.rejects(authority.issue({ ...request(), name: '*.other.customer.test' }), 'without the record');
    resolver.close();
  });

  test('takes its record back when the order is aborted before the name servers follow', async () => {
    const aborter = new AbortController();
    const actions: string[] = [];
    const change: DnsUpdater['change'] = async ({ action }) => {
      actions.push(action);
      aborter.abort();
    };
    await assert.rejects(openAuthority({ delegation: { change } }).issue({ ...request(), signal: aborter.signal }));
    assert.deepEqual(actions, ['add', 'delete']);
  });

  test('is issued with a program that changes the records: it gets words, no shell and none of the settings', async () => {
    const program = join(folder, 'hook');
    const asked = join(folder, 'asked');
    await writeFile(program, `#!/bin/sh\necho "$# $1 $2 $3 \${UNDERPASS_SECRET-none}" >> ${asked}\n`, { mode: 0o700 });
    process.env.UNDERPASS_SECRET = 'x';
    const hook = createDnsHook(program);
    await hook.change({ action: 'add', name: 'a.b', value: '$(touch x);`id`' });
    await hook.change({ action: 'delete', name: 'a.b', value: 'v' });
    delete process.env.UNDERPASS_SECRET;
    assert.equal(await readFile(asked, 'utf8'), '3 set a.b $(touch x);`id` none\n3 delete a.b v none\n');
    await writeFile(program, '#!/bin/sh\necho no such zone >&2\nexit 3\n', { mode: 0o700 });
    await assert.rejects(hook.change({ action: 'add', name: 'a.b', value: 'v' }), /hook set ended with 3: no such zone$/);
    const talk = 'head -c 200000 /dev/zero | tr "\\0" x';
    await writeFile(program, `#!/bin/sh\n${talk}\n${talk} >&2\necho end >> ${asked}\n`, { mode: 0o700 });
    await hook.change({ action: 'add', name: 'a.b', value: 'v' });
    assert.match(await readFile(asked, 'utf8'), /\nend\n$/, 'it may print as much as it likes');
    await assert.rejects(createDnsHook(join(folder, 'none')).change({ action: 'add', name: 'a.b', value: 'v' }), /ENOENT/);
  });
});
