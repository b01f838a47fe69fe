// Domains and DNS look-ups by their calls, grouped by status (spec 7; domain cases). What DNS answers is tested in dns/.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Domain, Tunnel } from '@underpass/rules/entity/entity.ts';
import { readPage } from '@underpass/rules/list/list-page.ts';
import { apexDomainMessage } from '@underpass/rules/names/apex-domain.ts';
import { createTestControl, type SignedUp, type TestControl } from '../../test-kit.ts';

let test: TestControl;
let ann: SignedUp;
let bob: SignedUp;
let count = 0;

before(async () => {
  test = await createTestControl({ settings: { origin: 'http://localhost:8400' } });
  ann = await test.signUp('ann@example.com');
  bob = await test.signUp('bob@example.com');
});
after(() => test.close());

const uniqueApex = (): string => `apex-${++count}.com`;
const listOf = (who: SignedUp): string => `/api/domains?project=${who.projectId}`;
const pathOf = (who: SignedUp, apex: string, rest = ''): string => `/api/domains/${apex}${rest}?project=${who.projectId}`;
const add = (who: SignedUp, name: string): Promise<Domain> => who.call('POST', listOf(who), { name });
const verify = (who: SignedUp, apex: string): Promise<Response> => who.send('POST', pathOf(who, apex, '/verify'));
const refusal = async (response: Response): Promise<[number, string]> => [response.status, await response.text()];

describe('200', () => {
  it('adds a domain with a challenge of its own, and lists and shows it', async () => {
    const apex = uniqueApex();
    const domain = await add(ann, apex);
    assert.deepEqual({ ...domain, challenge: '' }, { apexName: apex, verified: false, challenge: '' });
    assert.match(domain.challenge, /^[0-9a-f]{32}$/);
    assert.deepEqual(await ann.call('GET', pathOf(ann, apex)), domain);
    assert.ok((await ann.call<Domain[]>('GET', listOf(ann))).some((each) => each.apexName === apex));
    assert.notEqual((await add(bob, apex)).challenge, domain.challenge, 'another project has another challenge');
  });

  it('lists in pages, by search, status and order', async () => {
    const cat = await test.signUp('cat@example.com');
    for (const name of ['shop-10.com', 'shop-9.com', 'blog.com']) await add(cat, name);
    await verify(cat, 'blog.com');
    const names = async (query: string) =>
      (await cat.call<Domain[]>('GET', `${listOf(cat)}&${query}`)).map((each) => each.apexName);
    assert.deepEqual(await names('sort=-domain&q=SHOP'), ['shop-10.com', 'shop-9.com']);
    assert.deepEqual(await names('status=Verified'), []);
    test.dns.proofs.set('blog.com', 'found');
    await verify(cat, 'blog.com');
    assert.deepEqual(await names('status=Verified'), ['blog.com']);
    const response = await cat.send('GET', `${listOf(cat)}&sort=domain&limit=2`);
    const page = readPage((await response.json()) as Domain[], response.headers);
    assert.deepEqual([page.total, page.counts], [3, { Verified: 1, Unverified: 2 }]);
    assert.deepEqual(await names(`sort=domain&after=${encodeURIComponent(page.next ?? '')}`), ['shop-10.com']);
  });

  for (const [typed, canonical, why] of [
    ['UPPER-case.COM', 'upper-case.com', 'upper case'],
    ['trailing-dot.com.', 'trailing-dot.com', 'a trailing dot'],
    [' spaces.com ', 'spaces.com', 'spaces around'],
    ['bücher-laden.de', 'xn--bcher-laden-thb.de', 'letters beyond ASCII'],
    ['shop.co.uk', 'shop.co.uk', 'a suffix of two labels'],
    ['somebody.github.io', 'somebody.github.io', 'a private suffix'],
  ] as const) {
    it(`keeps one name for ${why}`, async () => {
      assert.equal((await add(ann, typed)).apexName, canonical);
    });
  }

  it('becomes verified when its record is found, and stays unverified otherwise', async () => {
    const apex = uniqueApex();
    await add(ann, apex);
    for (const answer of ['missing', 'unknown'] as const) {
      test.dns.proofs.set(apex, answer);
      assert.equal(((await (await verify(ann, apex)).json()) as Domain).verified, false);
    }
    test.dns.proofs.set(apex, 'found');
    assert.equal(((await (await verify(ann, apex)).json()) as Domain).verified, true);
    test.dns.proofs.set(apex, 'missing');
    assert.equal(((await (await verify(ann, apex)).json()) as Domain).verified, true, 'a later miss is the re-check’s to judge');
  });

  it('lets another project verify an apex once its owner deleted it', async () => {
    const apex = uniqueApex();
    await Promise.all([add(ann, apex), add(bob, apex)]);
    test.dns.proofs.set(apex, 'found');
    assert.equal((await verify(ann, apex)).status, 200);
    assert.equal((await verify(bob, apex)).status, 409);
    await ann.call('DELETE', pathOf(ann, apex));
    assert.equal(((await (await verify(bob, apex)).json()) as Domain).verified, true);
  });

  it('lets another project verify an apex once its owner lost it, and takes the loser’s hosts down', async () => {
    const apex = uniqueApex();
    const body = { name: 'loser', region: 'local', ingressDomains: [`www.${apex}`], type: 'ingress' };
    await ann.call('POST', `/api/tunnels?project=${ann.projectId}`, body);
    await add(bob, apex);
    test.dns.proofs.set(apex, 'found');
    await verify(ann, apex);
    const row = await test.store.db.selectFrom('domains').select('id').where('owned_apex', '=', apex).executeTakeFirstOrThrow();
    test.feed.changed.length = 0;
    const afterwards = await test.store.write(async (trx) => {
      await trx.updateTable('domains').set({ verified_at: null, owned_apex: null }).where('id', '=', row.id).execute();
      return test.control.onDomainLost(trx, { id: row.id, projectId: ann.projectId, apexName: apex });
    });
    afterwards();
    assert.equal(test.feed.changed.length, 1);
    assert.equal((await ann.call<Tunnel>('GET', `/api/tunnels/loser?project=${ann.projectId}`)).status, 'Pending');
    assert.equal(((await (await verify(bob, apex)).json()) as Domain).verified, true);
    await test.control.settle();
    assert.match(test.mails.at(-1)!.subject, new RegExp(`^${apex} is no longer verified$`));
    assert.equal(test.mails.at(-1)!.to, 'ann@example.com');
  });
});

describe('400', () => {
  for (const [name, why] of [
    ['com', 'a public suffix of one label'],
    ['co.uk', 'a public suffix of two'],
    ['github.io', 'a private suffix'],
    ['www.example.com', 'a subdomain'],
    ['example.notatld', 'an unknown TLD'],
    ['localhost', 'localhost'],
    ['app.localhost', 'a name under localhost'],
    ['tunnels.localhost', 'our own wildcard domain'],
    ['192.0.2.1', 'an IPv4 literal'],
    ['[2001:db8::1]', 'an IPv6 literal'],
    ['under_score.com', 'an underscore'],
    ['-lead.com', 'a leading hyphen'],
    ['trail-.com', 'a trailing hyphen'],
    [`${'a'.repeat(64)}.com`, 'a label of 64'],
    ['example.com/path', 'a path'],
    ['user@example.com', 'an address'],
    ['exa mple.com', 'a space inside'],
    ['example..com', 'an empty label'],
    ['*.example.com', 'a wildcard'],
    ['', 'nothing'],
  ] as const) {
    it(`refuses ${why} with the text for the Name field`, async () => {
      assert.deepEqual(await refusal(await ann.send('POST', listOf(ann), { name })), [400, apexDomainMessage]);
    });
  }

  it('accepts a label of 63', async () => {
    assert.equal((await add(ann, `${'a'.repeat(63)}.com`)).apexName, `${'a'.repeat(63)}.com`);
  });

  it('refuses the dashboard’s own domain and what contains it', async () => {
    const own = await createTestControl({ settings: { origin: 'https://cloud.underpass-service.com' } });
    const carol = await own.signUp('carol@example.com');
    for (const name of ['underpass-service.com', 'cloud.underpass-service.com']) {
      assert.equal((await carol.send('POST', listOf(carol), { name })).status, 400, name);
    }
    const tunnel = { name: 't', region: 'local', ingressDomains: ['www.underpass-service.com'], type: 'ingress' };
    assert.equal((await carol.send('POST', `/api/tunnels?project=${carol.projectId}`, tunnel)).status, 400);
    await own.close();
    await test.control.operator.createRegion({
      name: 'own',
      description: 'x',
      dataPlaneHost: 'eu.our-region.com',
      tlsTermination: true,
    });
    assert.deepEqual(await refusal(await ann.send('POST', listOf(ann), { name: 'our-region.com' })), [400, apexDomainMessage]);
  });
});

it('names the provider of a domain of the project, asks once for all, and tells nothing of other domains', async () => {
  const apex = uniqueApex();
  await Promise.all([add(ann, apex), add(bob, apex)]);
  test.dns.providerOf.set(apex, 'hetzner');
  assert.deepEqual(await ann.call('GET', pathOf(ann, apex, '/dns')), { provider: 'hetzner' });
  test.dns.providerOf.set(apex, 'ovh');
  assert.deepEqual(await bob.call('GET', pathOf(bob, apex, '/dns')), { provider: 'hetzner' });
  assert.equal((await ann.send('GET', pathOf(ann, 'example.org', '/dns'))).status, 404);
  const unknown = uniqueApex();
  await add(ann, unknown);
  assert.deepEqual(await ann.call('GET', pathOf(ann, unknown, '/dns')), {});
});

describe('404', () => {
  it('answers for a domain that is not the project’s', async () => {
    const apex = uniqueApex();
    await add(bob, apex);
    for (const [method, rest] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/verify'],
    ] as const) {
      assert.deepEqual(await refusal(await ann.send(method, pathOf(ann, apex, rest))), [404, 'Domain not found']);
    }
  });
});

describe('409', () => {
  it('refuses a domain that the project already has', async () => {
    const apex = uniqueApex();
    await add(ann, apex);
    assert.deepEqual(await refusal(await ann.send('POST', listOf(ann), { name: apex })), [
      409,
      `Domain '${apex}' is already in this project`,
    ]);
    const statuses = await Promise.all(
      Array.from({ length: 50 }, async () => (await ann.send('POST', listOf(ann), { name: 'fifty-at-once.com' })).status),
    );
    assert.equal(statuses.filter((status) => status === 200).length, 1);
  });

  it('refuses to verify a domain of another project, and says so', async () => {
    const apex = uniqueApex();
    await Promise.all([add(ann, apex), add(bob, apex)]);
    test.dns.proofs.set(apex, 'found');
    await verify(ann, apex);
    assert.deepEqual(await refusal(await verify(bob, apex)), [409, `Domain '${apex}' belongs to another project`]);
  });

  it('refuses to delete a domain in use, naming its tunnels', async () => {
    const apex = uniqueApex();
    for (const name of ['uses-a', 'uses-b']) {
      const body = { name, region: 'local', ingressDomains: [`${name}.${apex}`], type: 'ingress' };
      await ann.call('POST', `/api/tunnels?project=${ann.projectId}`, body);
    }
    const text = `Domain '${apex}' is in use by tunnels 'uses-a', 'uses-b'`;
    assert.deepEqual(await refusal(await ann.send('DELETE', pathOf(ann, apex))), [409, text]);
  });

  it('enforces the quota of domains, those that a tunnel adds included', async () => {
    const carol = await test.signUp('carol@example.com');
    await test.control.operator.changeProject(carol.projectId, { limits: { domains: 1 } });
    await add(carol, uniqueApex());
    const text = 'This project may have at most 1 domains. Delete some, or ask the operator for more.';
    assert.deepEqual(await refusal(await carol.send('POST', listOf(carol), { name: uniqueApex() })), [409, text]);
    const body = { name: 't', region: 'local', ingressDomains: [uniqueApex()], type: 'ingress' };
    assert.deepEqual(await refusal(await carol.send('POST', `/api/tunnels?project=${carol.projectId}`, body)), [409, text]);
  });
});

describe('dns look-up', () => {
  const lookUp = (who: SignedUp, host: string): Promise<Response> =>
    who.send('GET', `/api/dns/lookup?host=${encodeURIComponent(host)}`);

  it('answers for a data-plane host, an ingress domain, and names under the caller’s domains', async () => {
    const apex = uniqueApex();
    await add(ann, apex);
    const { ingressDomains } = await ann.call<Tunnel>('POST', `/api/tunnels?project=${ann.projectId}`, {
      name: 'looked',
      region: 'local',
    });
    for (const host of ['local.localhost', ingressDomains[0]!.name, apex, `www.${apex}`]) {
      test.dns.addresses.set(host, ['192.0.2.80']);
      assert.deepEqual(await (await lookUp(ann, host)).json(), { host, ips: ['192.0.2.80'] });
    }
    assert.deepEqual(await (await lookUp(ann, `WWW.${apex}.`)).json(), { host: `www.${apex}`, ips: ['192.0.2.80'] });
  });

  it('asks under a domain that nobody has verified for one day only, and under a verified one always', async () => {
    const own = await createTestControl();
    const [dan, fay] = [await own.signUp('dan@example.com'), await own.signUp('fay@example.com')];
    const answer = async (who: SignedUp, host: string): Promise<number> => (await lookUp(who, host)).status;
    await add(dan, 'kept.com');
    await add(dan, 'proven.com');
    own.dns.proofs.set('proven.com', 'found');
    await verify(dan, 'proven.com');
    own.time.now += 24 * 3600_000 - 1;
    assert.deepEqual([await answer(dan, 'www.kept.com'), await answer(dan, 'www.proven.com')], [200, 200]);
    own.time.now += 1;
    assert.deepEqual([await answer(dan, 'www.kept.com'), await answer(dan, 'www.proven.com')], [403, 200]);
    for (let i = 0; i < 25; i++) await add(fay, `many-${i}.com`);
    const statuses = [];
    for (let i = 0; i < 25; i++) statuses.push(await answer(fay, `many-${i}.com`));
    assert.deepEqual(statuses, [...Array(5).fill(403), ...Array(20).fill(200)]);
    await own.close();
  });

  it('stops at 500 names a day under domains that nobody has verified, even if they are deleted and added again', async () => {
    const own = await createTestControl({ limited: true });
    const eve = await own.signUp('eve@example.com');
    const second = own.client();
    const link = new URL(await own.control.operator.createLoginLink(eve.email));
    await second.call('POST', '/auth/login', new URLSearchParams({ token: link.pathname.split('/').at(-1)! }));
    const statuses: number[] = [];
    for (const browser of [eve, { ...eve, ...second }]) {
      await add(browser, 'guessed.com');
      for (let i = 0; i < 300; i++) statuses.push((await lookUp(browser, `name-${i}.guessed.com`)).status);
      await browser.send('DELETE', pathOf(eve, 'guessed.com'));
    }
    assert.deepEqual(statuses, [...Array(500).fill(200), ...Array(100).fill(429)]);
    await own.close();
  });

  it('runs at most four look-ups of one user at once, so silent name servers do not delay others', async () => {
    const own = await createTestControl();
    const [eve, carol] = [await own.signUp('eve@example.com'), await own.signUp('carol@example.com')];
    const silence = Promise.withResolvers<void>();
    let underWay = 0;
    const hang = async <T>(answer: T): Promise<T> => {
      underWay += 1;
      await silence.promise;
      return answer;
    };
    own.dns.lookup = (host) => (host.endsWith('slow.com') ? hang([]) : Promise.resolve(['192.0.2.80']));
    own.dns.checkChallenge = () => hang('missing' as const);
    for (const who of [eve, carol]) await add(who, `${who === eve ? 'slow' : 'quick'}.com`);
    const asked = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? lookUp(eve, `a${i}.slow.com`) : verify(eve, 'slow.com')));
    assert.deepEqual(await (await lookUp(carol, 'www.quick.com')).json(), { host: 'www.quick.com', ips: ['192.0.2.80'] });
    for (let turns = 0; turns < 200; turns++) await nextTurn();
    assert.equal(underWay, 4);
    silence.resolve();
    assert.deepEqual([...new Set((await Promise.all(asked)).map((each) => each.status))], [200]);
    assert.equal(underWay, 20);
    await own.close();
  });

  it('sends no DNS query for a stranger’s host, an internal name or an address', async () => {
    const apex = uniqueApex();
    await add(bob, apex);
    const asked = test.dns.looked.length;
    for (const host of [apex, `www.${apex}`, 'example.org', 'metadata.internal', 'localhost', `${apex}.evil.com`]) {
      assert.equal((await lookUp(ann, host)).status, 403, host);
    }
    for (const host of ['127.0.0.1', '169.254.169.254', '[::1]', 'a b', 'http://example.org']) {
      assert.equal((await lookUp(ann, host)).status, 400, host);
    }
    assert.equal(test.dns.looked.length, asked);
  });
});
