// Tunnels by their calls, grouped by status (spec 7; spec 4, Tunnel status; tenancy cases).

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Domain, Tunnel } from '@underpass/rules/entity/entity.ts';
import { durations } from '@underpass/rules/limits.ts';
import { firstWords, secondWords } from '@underpass/rules/text/word-list.ts';
import { hashToken } from '../../platform/secret/token.ts';
import { createTestControl, type SignedUp, type TestClient, type TestControl } from '../../test-kit.ts';

let test: TestControl;
let ann: SignedUp;
let count = 0;

before(async () => {
  test = await createTestControl();
  ann = await test.signUp('ann@example.com');
});
after(() => test.close());

const unique = (prefix = 't'): string => `${prefix}${++count}`;
const tunnelsOf = (who: SignedUp): string => `/api/tunnels?project=${who.projectId}`;
const tunnelOf = (who: SignedUp, name: string): string => `/api/tunnels/${name}?project=${who.projectId}`;
const create = (who: SignedUp, body: object): Promise<Tunnel> => who.call('POST', tunnelsOf(who), { region: 'local', ...body });
const refusal = async (response: Response): Promise<[number, string]> => [response.status, await response.text()];
const createRefused = async (who: SignedUp, body: object) =>
  refusal(await who.send('POST', tunnelsOf(who), { region: 'local', name: unique(), ...body }));
const idOf = async (name: string): Promise<string> =>
  (await test.store.db.selectFrom('tunnels').select('id').where('name', '=', name).executeTakeFirstOrThrow()).id;
async function verify(who: SignedUp, apex: string): Promise<Response> {
  test.dns.proofs.set(apex, 'found');
  return who.send('POST', `/api/domains/${apex}/verify?project=${who.projectId}`);
}
async function liveTokens(name: string): Promise<string[]> {
  const query = test.store.db
    .selectFrom('tunnel_tokens')
    .select(['token_hash', 'expires_at'])
    .where('tunnel_id', '=', await idOf(name));
  return (await query.execute())
    .filter((row) => (row.expires_at ?? Number.POSITIVE_INFINITY) > test.time.now)
    .map((row) => row.token_hash);
}

describe('200', () => {
  it('creates an http tunnel under a generated name that is live at once', async () => {
    const name = unique();
    const tunnel = await create(ann, { name, ingressDomains: [], proxyProtocol: '', type: 'http' });
    assert.deepEqual(
      { ...tunnel, token: '', ingressDomains: [] },
      {
        name,
        type: 'http',
        region: 'local',
        regionDescription: 'This machine',
        status: 'Progressing',
        ingressDomains: [],
        connectedClients: 0,
        condition: 'unknown',
        dataPlaneHost: 'local.localhost',
        proxyProtocol: '',
        securityGroup: 'default',
        updatedAt: '2026-11-20T10:00:00.000Z',
        token: '',
        url: `https://local.localhost:8443#ca=${'ab'.repeat(32)}`,
        underpassVersion: '0.1.0',
      },
    );
    const [domain] = tunnel.ingressDomains;
    assert.match(domain!.name, /^[a-z]+-[a-z]+\.tunnels\.localhost$/);
    assert.deepEqual({ ...domain, name: '' }, { name: '', apexName: '', verified: true, url: `https://${domain!.name}:8443` });
  });

  it('gives every tunnel a token of 256 random bits without a prefix, stored sealed and hashed', async () => {
    const names = [unique(), unique()];
    const tokens = await Promise.all(names.map(async (name) => (await create(ann, { name })).token!));
    for (const token of tokens) assert.match(token, /^[A-Za-z0-9_-]{43}$/);
    assert.notEqual(tokens[0]!.slice(0, 4), tokens[1]!.slice(0, 4));
    const rows = JSON.stringify(await test.store.db.selectFrom('tunnel_tokens').selectAll().execute());
    assert.ok(rows.includes(hashToken(tokens[0]!)));
    assert.ok(!rows.includes(tokens[0]!));
  });

  it('adds the apex of an ingress domain to the project, unverified, and stays pending', async () => {
    const name = unique();
    const apex = `${unique('apex')}.com`;
    const tunnel = await create(ann, { name, ingressDomains: [`WWW.${apex}.`, apex, `www.${apex}`], type: 'ingress' });
    assert.equal(tunnel.status, 'Pending');
    assert.deepEqual(
      tunnel.ingressDomains.map(({ name: host, apexName, verified }) => [host, apexName, verified]),
      [
        [`www.${apex}`, apex, false],
        [apex, apex, false],
      ],
    );
    const domain = await ann.call<Domain>('GET', `/api/domains/${apex}?project=${ann.projectId}`);
    assert.equal(domain.verified, false);
    assert.match(domain.challenge, /^[0-9a-f]{32}$/);
  });

  it('goes from Pending through Progressing to Created as its domain is verified and an edge serves it', async () => {
    const name = unique();
    const apex = `${unique('apex')}.com`;
    await create(ann, { name, ingressDomains: [apex], type: 'ingress' });
    const status = async () => (await ann.call<Tunnel>('GET', tunnelOf(ann, name))).status;
    assert.equal(await status(), 'Pending');
    test.feed.serving.add(await idOf(name));
    assert.equal(await status(), 'Pending', 'an edge alone does not verify');
    test.feed.serving.clear();
    test.feed.changed.length = 0;
    assert.equal((await verify(ann, apex)).status, 200);
    assert.deepEqual(test.feed.changed, [await idOf(name)]);
    assert.equal(await status(), 'Progressing');
    test.feed.serving.add(await idOf(name));
    assert.equal(await status(), 'Created');
  });

  describe('while an edge is connected', () => {
    const since = '2026-11-20T10:00:00.000Z';
    const health = { id: 'e1', region: 'local', version: '0.1.0', acknowledged: true, clients: 0, since, lastSeenAt: since };

    /** The edge acknowledges a tunnel as soon as it has heard of it. */
    async function acknowledge(answer: Promise<unknown>): Promise<void> {
      test.feed.changed.length = 0;
      test.feed.knownEdges.push({ ...health, connected: true });
      try {
        while (test.feed.changed.length === 0) await new Promise(setImmediate);
        await new Promise(setImmediate);
        for (const id of test.feed.changed) test.feed.serving.add(id);
        test.feed.move(test.feed.changed);
        await answer;
      } finally {
        test.feed.knownEdges.length = 0;
      }
    }

    it('answers the creation of a complete tunnel once the edge serves it, as Created', async () => {
      const made = create(ann, { name: unique() });
      await acknowledge(made);
      assert.equal((await made).status, 'Created');
    });

    it('answers the verification of a domain once the edge serves its tunnels', async () => {
      const name = unique();
      const apex = `${unique('apex')}.com`;
      await create(ann, { name, ingressDomains: [apex], type: 'ingress' });
      await acknowledge(verify(ann, apex));
      assert.equal((await ann.call<Tunnel>('GET', tunnelOf(ann, name))).status, 'Created');
    });

    it('answers all the same if the edge stays silent', async () => {
      test.feed.knownEdges.push({ ...health, connected: true });
      assert.equal((await create(ann, { name: unique() })).status, 'Progressing');
      test.feed.knownEdges.length = 0;
    });
  });

  it('shows clients always, and metrics on request', async () => {
    const name = unique();
    await create(ann, { name });
    const id = await idOf(name);
    const client = {
      id: 'c',
      address: '192.0.2.9',
      version: '0.1.0',
      since: '2026-11-20T10:00:00.000Z',
      edge: 'e',
      rttMs: 1,
      healthy: true,
    };
    test.feed.connected.set(id, [client, { ...client, id: 'd' }]);
    test.feed.rates.set(id, { rx: 10, tx: 20, tcpConnectionRate: 0.25 });
    const plain = await ann.call<Tunnel>('GET', tunnelOf(ann, name));
    assert.deepEqual([plain.connectedClients, plain.metrics], [2, undefined]);
    const full = await ann.call<Tunnel>('GET', `${tunnelOf(ann, name)}&metrics=1`);
    assert.deepEqual(full.metrics, { rx: 10, tx: 20, tcpConnectionRate: 0.25 });
    assert.deepEqual(await ann.call('GET', `/api/tunnels/${name}/clients?project=${ann.projectId}`), [
      client,
      { ...client, id: 'd' },
    ]);
  });

  it('hides only the token from a viewer', async () => {
    const viewer = await test.signUp('viewer@example.com');
    await test.addMember(ann.projectId, viewer.userId, 'viewer');
    const name = unique();
    const { token, ...rest } = await create(ann, { name });
    assert.ok(token);
    assert.deepEqual(await viewer.call('GET', tunnelOf(ann, name)), rest);
    const list = await viewer.call<Tunnel[]>('GET', tunnelsOf(ann));
    assert.ok(list.length > 1);
    assert.ok(list.every((each) => each.token === undefined));
  });

  it('updates the given fields and leaves the rest', async () => {
    const name = unique();
    const before = await create(ann, { name, proxyProtocol: 'v1' });
    await ann.call('POST', `/api/security-groups?project=${ann.projectId}`, { name: 'office', allow: ['192.0.2.0/24'] });
    test.feed.changed.length = 0;
    const after = await ann.call<Tunnel>('PATCH', tunnelOf(ann, name), { securityGroup: 'office' });
    assert.deepEqual(after, { ...before, securityGroup: 'office', updatedAt: after.updatedAt });
    assert.deepEqual(test.feed.changed, [await idOf(name)]);
    const emptied = await ann.call<Tunnel>('PATCH', tunnelOf(ann, name), { ingressDomains: [], proxyProtocol: '' });
    const changed = { proxyProtocol: '', updatedAt: emptied.updatedAt };
    assert.deepEqual(emptied, { ...after, ...changed }, 'an empty list keeps a generated name');
    const updates = [before, after, emptied].map(({ updatedAt }) => updatedAt);
    assert.equal(new Set(updates).size, 3, 'each state has its own, also in the same millisecond');
  });

  it('does nothing for a save without a change: no audit row, no message to the edges', async () => {
    const name = unique();
    const ingressDomains = [`a.${unique('apex')}.com`, `b.${unique('apex')}.com`];
    const before = await create(ann, { name, type: 'ingress', ingressDomains, proxyProtocol: 'v1' });
    test.feed.changed.length = 0;
    const same = { ingressDomains, proxyProtocol: 'v1', securityGroup: 'default' };
    for (const body of [same, {}, { ingressDomains: [...ingressDomains, ingressDomains[0]] }])
      assert.deepEqual(await ann.call('PATCH', tunnelOf(ann, name), body), before);
    const audited = async () =>
      (await test.store.db.selectFrom('audit').select('action').where('target', '=', name).orderBy('id').execute()).map(
        (row) => row.action,
      );
    assert.deepEqual(await audited(), ['tunnel.create']);
    assert.deepEqual(test.feed.changed, []);
    await ann.call('PATCH', tunnelOf(ann, name), { ...same, ingressDomains: ingressDomains.toReversed() });
    assert.deepEqual(await audited(), ['tunnel.create', 'tunnel.update'], 'the order is a change');
    assert.deepEqual(test.feed.changed, [await idOf(name)]);
  });

  it('replaces ingress domains, and keeps verified ones live', async () => {
    const name = unique();
    const apex = `${unique('apex')}.com`;
    await create(ann, { name, ingressDomains: [`a.${apex}`], type: 'ingress' });
    await verify(ann, apex);
    const tunnel = await ann.call<Tunnel>('PATCH', tunnelOf(ann, name), {
      ingressDomains: [`b.${apex}`, `a.${apex}`, 'c.other-apex.net'],
    });
    assert.deepEqual(
      tunnel.ingressDomains.map((each) => [each.name, each.verified]),
      [
        [`b.${apex}`, true],
        [`a.${apex}`, true],
        ['c.other-apex.net', false],
      ],
    );
    assert.equal(tunnel.status, 'Pending');
    const [, row] = await test.store.db.selectFrom('audit').select('detail').where('target', '=', name).orderBy('id').execute();
    assert.deepEqual(
      JSON.parse(row!.detail),
      { added: [`b.${apex}`, 'c.other-apex.net'], removed: [] },
      'the audit log says only what became different',
    );
  });

  it('rotates a token with an overlap: two live, then one; a second rotation ends the first at once', async () => {
    const name = unique();
    const first = (await create(ann, { name })).token!;
    const rotate = async () =>
      (await ann.call<Tunnel>('POST', `/api/tunnels/${name}/token/rotate?project=${ann.projectId}`)).token!;
    const second = await rotate();
    assert.notEqual(second, first);
    assert.deepEqual(await liveTokens(name), [hashToken(first), hashToken(second)]);
    const third = await rotate();
    assert.deepEqual(await liveTokens(name), [hashToken(second), hashToken(third)]);
    test.time.now += durations.tokenOverlapHours * 3600_000;
    assert.deepEqual(await liveTokens(name), [hashToken(third)]);
    assert.equal((await ann.call<Tunnel>('GET', tunnelOf(ann, name))).token, third);
  });

  it('rotates without an overlap: every other token ends at once, the edges get a message, and the log a row', async () => {
    const name = unique();
    const first = (await create(ann, { name })).token!;
    const path = `/api/tunnels/${name}/token/rotate?project=${ann.projectId}`;
    const second = (await ann.call<Tunnel>('POST', path)).token!;
    assert.deepEqual(await refusal(await ann.send('POST', `${path}&overlap=1`)), [400, "Overlap must be '0', or left out."]);
    assert.deepEqual(await liveTokens(name), [hashToken(first), hashToken(second)]);
    test.feed.changed.length = 0;
    const third = (await ann.call<Tunnel>('POST', `${path}&overlap=0`)).token!;
    assert.deepEqual(await liveTokens(name), [hashToken(third)]);
    assert.deepEqual(test.feed.changed, [await idOf(name)]);
    const rows = await test.store.db
      .selectFrom('audit')
      .select('detail')
      .where('target', '=', name)
      .where('action', '=', 'tunnel.rotate-token')
      .orderBy('id')
      .execute();
    assert.deepEqual(
      rows.map((row) => row.detail),
      ['{}', '{"overlap":false}'],
    );
  });

  it('reads the history of a tunnel in three ranges', async () => {
    const name = unique();
    await create(ann, { name });
    for (const range of ['hour', 'day', 'week']) {
      assert.deepEqual(await ann.call('GET', `/api/tunnels/${name}/history?project=${ann.projectId}&range=${range}`), {
        stepSeconds: 60,
        points: [],
        whole: { answers: null, firstByte: null },
      });
    }
    assert.equal((await ann.send('GET', `/api/tunnels/${name}/history?project=${ann.projectId}&range=year`)).status, 400);
  });
});

describe('204', () => {
  it('deletes a tunnel with its hosts and tokens, and notifies the edges', async () => {
    const name = unique();
    await create(ann, { name });
    const id = await idOf(name);
    test.feed.changed.length = 0;
    assert.equal((await ann.send('DELETE', tunnelOf(ann, name))).status, 204);
    assert.deepEqual(test.feed.changed, [id]);
    for (const table of ['tunnel_hosts', 'tunnel_tokens'] as const) {
      assert.deepEqual(await test.store.db.selectFrom(table).selectAll().where('tunnel_id', '=', id).execute(), []);
    }
    assert.equal((await ann.send('GET', tunnelOf(ann, name))).status, 404);
  });

  it('keeps a released generated name reserved for 90 days', async () => {
    const name = unique();
    const [domain] = (await create(ann, { name })).ingressDomains;
    await ann.call('DELETE', tunnelOf(ann, name));
    const row = await test.store.db
      .selectFrom('released_names')
      .selectAll()
      .where('host', '=', domain!.name)
      .executeTakeFirstOrThrow();
    assert.equal(row.resting_until, test.time.now + 90 * 24 * 3600_000);
  });

  it('frees a domain of the project for another tunnel', async () => {
    const [first, second] = [unique(), unique()];
    const host = `www.${unique('apex')}.com`;
    await create(ann, { name: first, ingressDomains: [host], type: 'ingress' });
    await ann.call('DELETE', tunnelOf(ann, first));
    assert.equal((await create(ann, { name: second, ingressDomains: [host], type: 'ingress' })).ingressDomains[0]?.name, host);
  });
});

describe('400', () => {
  for (const [body, text] of [
    [{ name: 'Not_a_name' }, 'A name that can be used as a DNS subdomain is required'],
    [{ name: '../../etc' }, 'A name that can be used as a DNS subdomain is required'],
    [{ name: '%2e%2e' }, 'A name that can be used as a DNS subdomain is required'],
    [{ name: 'раураl' }, 'A name that can be used as a DNS subdomain is required'],
    [{ name: 'a'.repeat(300) }, 'A name that can be used as a DNS subdomain is required'],
    [{ region: 'nowhere' }, "There is no region 'nowhere'. Choose local"],
    [{ type: 'udp' }, "Tunnel type must be 'http' or 'ingress' or 'tcp'"],
    [{ type: 'tcp' }, "Region 'local' offers tunnels of type http or ingress only"],
    [{ proxyProtocol: 'v3' }, "Proxy protocol must be '', 'v1' or 'v2'"],
    [{ type: 'ingress', ingressDomains: [] }, 'Provide at least one ingress domain'],
    [{ ingressDomains: ['under_score.com'] }, 'Please enter a valid domain name.'],
    [{ ingressDomains: ['*.com'] }, 'Please enter a valid domain name.'],
    [{ ingressDomains: ['192.0.2.1'] }, 'Please enter a valid domain name.'],
    [{ ingressDomains: ['localhost'] }, 'Please enter a valid domain name.'],
    [{ ingressDomains: ['co.uk'] }, "Ingress domain 'co.uk' cannot be used. Use a name under a domain that you own."],
    [{ ingressDomains: ['github.io'] }, "Ingress domain 'github.io' cannot be used. Use a name under a domain that you own."],
    [
      { ingressDomains: ['www.example.notatld'] },
      "Ingress domain 'www.example.notatld' cannot be used. Use a name under a domain that you own.",
    ],
    [
      { ingressDomains: ['happy-river.tunnels.localhost'] },
      "Ingress domain 'happy-river.tunnels.localhost' cannot be used. Use a name under a domain that you own.",
    ],
    [
      { ingressDomains: ['local.localhost'] },
      "Ingress domain 'local.localhost' cannot be used. Use a name under a domain that you own.",
    ],
    [{ ingressDomains: 'www.example.com' }, "Field 'ingressDomains' must be a list of strings."],
    [{ ingressDomains: [7] }, "Field 'ingressDomains' must be a list of strings."],
    [{ name: { toString: 'x' } }, "Field 'name' must be a string."],
  ] as const) {
    it(`refuses ${JSON.stringify(body).slice(0, 60)}`, async () => {
      assert.deepEqual(await createRefused(ann, body), [400, text]);
    });
  }

  it('refuses a closed region, and http in a region that does not end TLS', async () => {
    const region = { description: 'There', tlsTermination: false };
    await test.control.operator.createRegion({ ...region, name: 'passthrough', dataPlaneHost: 'pass.example.net' });
    await test.control.operator.createRegion({
      ...region,
      name: 'closed',
      dataPlaneHost: 'closed.example.net',
      available: false,
    });
    assert.deepEqual(await createRefused(ann, { region: 'passthrough' }), [
      400,
      "Region 'passthrough' offers tunnels of type ingress only",
    ]);
    assert.deepEqual(await createRefused(ann, { region: 'closed', type: 'ingress', ingressDomains: ['a.com'] }), [
      400,
      "Region 'closed' is not available",
    ]);
  });

  it('refuses an update with a group of another project, or with a name generated for another project', async () => {
    const bob = await test.signUp('bob-400@example.com');
    await bob.call('POST', `/api/security-groups?project=${bob.projectId}`, { name: 'bobs', allow: ['192.0.2.1'] });
    const name = unique();
    const bobs = await create(bob, { name: 'bobs-tunnel' });
    await create(ann, { name });
    const update = async (body: object) => refusal(await ann.send('PATCH', tunnelOf(ann, name), body));
    assert.deepEqual(await update({ securityGroup: 'bobs' }), [400, "Security group 'bobs' does not exist"]);
    const host = bobs.ingressDomains[0]!.name;
    assert.deepEqual(await update({ ingressDomains: [host] }), [
      400,
      `Ingress domain '${host}' cannot be used. Use a name under a domain that you own.`,
    ]);
  });

  it('ignores fields that a caller may not set', async () => {
    const name = unique();
    const forged = {
      id: 'mine',
      project_id: 'other',
      token: 'known',
      status: 'Created',
      suspended_at: null,
      underpassVersion: '9',
      securityGroup: 'x',
    };
    const tunnel = await create(ann, { name, ...forged });
    assert.notEqual(tunnel.token, 'known');
    assert.equal(tunnel.status, 'Progressing');
    assert.notEqual(await idOf(name), 'mine');
  });
});

describe('404', () => {
  it('answers for every call about a tunnel that does not exist', async () => {
    for (const [method, rest] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/token/rotate'],
      ['GET', '/clients'],
    ] as const) {
      const response = await ann.send(
        method,
        `/api/tunnels/nothing${rest}?project=${ann.projectId}`,
        method === 'PATCH' ? {} : undefined,
      );
      assert.deepEqual(await refusal(response), [404, 'Tunnel not found'], `${method} ${rest}`);
    }
  });
});

describe('409', () => {
  it('refuses a name that the project already has; another project may have it', async () => {
    const name = unique();
    await create(ann, { name });
    assert.deepEqual(await createRefused(ann, { name: name.toUpperCase() }), [409, `Tunnel '${name}' already exists`]);
    const bob = await test.signUp('bob-409@example.com');
    assert.equal((await create(bob, { name })).name, name);
  });

  it('refuses an ingress domain of another tunnel of the project, and names the tunnel', async () => {
    const [first, second] = [unique(), unique()];
    const host = `www.${unique('apex')}.com`;
    await create(ann, { name: first, ingressDomains: [host], type: 'ingress' });
    const text = `Ingress domain '${host}' is in use by tunnel '${first}'`;
    assert.deepEqual(await createRefused(ann, { name: second, ingressDomains: [host], type: 'ingress' }), [409, text]);
    await create(ann, { name: second });
    assert.deepEqual(await refusal(await ann.send('PATCH', tunnelOf(ann, second), { ingressDomains: [host] })), [409, text]);
  });

  it('takes a wildcard under an apex of the project, and no other', async () => {
    const project = `project=${ann.projectId}`;
    const make = (name: string, type: string, ...ingressDomains: string[]) =>
      ann.send('POST', `/api/tunnels?${project}`, { name, region: 'local', type, ingressDomains });
    const wildcard = '*.apps.wild-one.com';
    assert.equal((await make('wild-a', 'ingress', wildcard, 'x.apps.wild-one.com')).status, 200);
    const taken = await make('wild-b', 'ingress', wildcard);
    assert.deepEqual([taken.status, await taken.text()], [409, `Ingress domain '${wildcard}' is in use by tunnel 'wild-a'`]);
    assert.equal((await make('wild-c', 'http', 'b.apps.wild-one.com')).status, 200, 'an exact name beside it');
    assert.equal((await make('wild-d', 'http', '*.b.wild-one.com')).status, 200);
    for (const name of ['*.com', '*.co.uk', '*.localhost', '*.tunnels.localhost', '*'])
      assert.equal((await make('wild-e', 'ingress', name)).status, 400, name);
    test.dns.proofs.set('wild-one.com', 'found');
    await ann.call('POST', `/api/domains/wild-one.com/verify?${project}`);
    test.dns.addresses.set('underpass-check.apps.wild-one.com', ['192.0.2.1']);
    const path = `/api/tunnels/wild-a/domains?${project}&host=${encodeURIComponent(wildcard)}`;
    const { domains } = await ann.call<{ domains: { ips: string[] }[] }>('GET', path);
    assert.deepEqual(domains[0]?.ips, ['192.0.2.1']);
    const bob = await test.signUp('bob-wild@example.com');
    const stolen = await bob.send('POST', `/api/tunnels?project=${bob.projectId}`, {
      ...{ name: 'wild', region: 'local', type: 'ingress', ingressDomains: ['*.deep.apps.wild-one.com'] },
    });
    assert.equal(stolen.status, 409);
  });

  it('refuses hosts under an apex that another project has verified, and leaves no trace of the attempt', async () => {
    const apex = `${unique('apex')}.com`;
    await create(ann, { name: unique(), ingressDomains: [apex], type: 'ingress' });
    await verify(ann, apex);
    const bob = await test.signUp('bob-apex@example.com');
    const text = `Domain '${apex}' belongs to another project`;
    for (const host of [apex, `www.${apex}`, `deep.er.${apex}`]) {
      assert.deepEqual(await createRefused(bob, { ingressDomains: [host], type: 'ingress' }), [409, text]);
    }
    assert.deepEqual(await bob.call('GET', `/api/domains?project=${bob.projectId}`), []);
    assert.deepEqual(await bob.call('GET', tunnelsOf(bob)), []);
  });

  it('lets two projects wait for one apex; the first to verify gets it', async () => {
    const apex = `${unique('apex')}.com`;
    const bob = await test.signUp('bob-race@example.com');
    const [mine, his] = [unique(), unique()];
    await create(ann, { name: mine, ingressDomains: [`www.${apex}`], type: 'ingress' });
    await create(bob, { name: his, ingressDomains: [`www.${apex}`], type: 'ingress' });
    const answers = await Promise.all([verify(bob, apex), verify(ann, apex)]);
    assert.deepEqual(answers.map((each) => each.status).sort(), [200, 409]);
    const live = await test.store.db
      .selectFrom('tunnel_hosts')
      .select('live_host')
      .where('live_host', '=', `www.${apex}`)
      .execute();
    assert.equal(live.length, 1);
  });

  it('creates one of fifty tunnels of one name at once', async () => {
    const name = unique();
    const statuses = await Promise.all(Array.from({ length: 50 }, async () => (await createRefused(ann, { name }))[0]));
    assert.deepEqual([...new Set(statuses)].sort(), [200, 409]);
    assert.equal(statuses.filter((status) => status === 200).length, 1);
  });

  it('creates one of fifty tunnels that claim one host at once', async () => {
    const apex = `${unique('apex')}.com`;
    await create(ann, { name: unique(), ingressDomains: [`first.${apex}`], type: 'ingress' });
    await verify(ann, apex);
    const claims = Array.from({ length: 50 }, () =>
      createRefused(ann, { name: unique(), ingressDomains: [`www.${apex}`], type: 'ingress' }),
    );
    const statuses = (await Promise.all(claims)).map(([status]) => status);
    assert.equal(statuses.filter((status) => status === 200).length, 1);
    assert.equal(statuses.filter((status) => status === 409).length, 49);
  });

  it('enforces the quota of tunnels, which the operator may change', async () => {
    const bob = await test.signUp('bob-quota@example.com');
    await test.control.operator.changeProject(bob.projectId, { limits: { tunnels: 2, ingressDomainsPerTunnel: 2 } });
    const statuses = await Promise.all(Array.from({ length: 10 }, async () => (await createRefused(bob, {}))[0]));
    assert.equal(statuses.filter((status) => status === 200).length, 2);
    assert.deepEqual(await createRefused(bob, {}), [
      409,
      'This project may have at most 2 tunnels. Delete some, or ask the operator for more.',
    ]);
    await test.control.operator.changeProject(bob.projectId, { limits: { tunnels: 3 } });
    const three = { ingressDomains: ['a.quota-apex.com', 'b.quota-apex.com', 'c.quota-apex.com'], type: 'ingress' };
    assert.deepEqual(await createRefused(bob, three), [
      409,
      'This project may have at most 2 ingress domains on a tunnel. Delete some, or ask the operator for more.',
    ]);
  });
});

describe('412', () => {
  it('refuses a save that names an outdated state, and changes nothing', async () => {
    const name = unique();
    const ingressDomains = [`www.${unique('apex')}.com`];
    const { updatedAt } = await create(ann, { name, type: 'ingress', ingressDomains });
    const save = (body: object, tags: string) => ann.send('PATCH', tunnelOf(ann, name), body, { 'if-match': tags });
    const theirs = await ann.call<Tunnel>('PATCH', tunnelOf(ann, name), { proxyProtocol: 'v1' });
    for (const body of [{ proxyProtocol: 'v2' }, { ingressDomains: [`new.${ingressDomains[0]}`] }]) {
      const refused = await refusal(await save(body, `"${updatedAt}"`));
      assert.deepEqual(refused, [412, `Tunnel '${name}' has changed since you opened it.`]);
    }
    assert.deepEqual(await ann.call('GET', tunnelOf(ann, name)), theirs);
    assert.equal((await save({ proxyProtocol: 'v1' }, `"${updatedAt}"`)).status, 200, 'it is as asked already');
    assert.equal((await save({ proxyProtocol: 'v2' }, `"x", "${theirs.updatedAt}"`)).status, 200);
    assert.equal((await save({ proxyProtocol: '' }, '*')).status, 200);
  });
});

describe('generated names', () => {
  it('do not run out when every pair of words is in use or reserved', async () => {
    const crowded = await createTestControl();
    const cid = await crowded.signUp('cid@example.com');
    const resting_until = crowded.time.now + 1;
    const rows = firstWords.flatMap((first) =>
      secondWords.map((second) => ({ host: `${first}-${second}.tunnels.localhost`, project_id: 'p', resting_until })),
    );
    await crowded.store.write(async (trx) => {
      for (let from = 0; from < rows.length; from += 1_000)
        await trx
          .insertInto('released_names')
          .values(rows.slice(from, from + 1_000))
          .execute();
    });
    const made = await Promise.all(
      ['a', 'b', 'c'].map((name) => cid.call<Tunnel>('POST', tunnelsOf(cid), { name, region: 'local' })),
    );
    const hosts = made.map((tunnel) => tunnel.ingressDomains[0]!.name);
    assert.equal(new Set(hosts).size, 3);
    for (const host of hosts) assert.match(host, /^[a-z]+-[a-z]+-[0-9]{6}\.tunnels\.localhost$/);
    await crowded.close();
  });

  it('are limited to 500 a day for the tokens of one user, because each stays reserved for 90 days after its tunnel', async () => {
    const limited = await createTestControl({ limited: true });
    const cid = await limited.signUp('cid@example.com');
    const projects = [cid.projectId];
    for (const name of ['one', 'two']) projects.push((await cid.call<{ id: string }>('POST', '/api/projects', { name })).id);
    const tokens: TestClient[] = [];
    for (const projectId of projects) {
      await limited.control.operator.changeProject(projectId, { limits: { tunnels: 1000 } });
      const body = { name: 'ci', role: 'member', expiresInDays: 9 };
      tokens.push(limited.client((await cid.call<{ token: string }>('POST', `/api/tokens?project=${projectId}`, body)).token));
    }
    const create = (i: number, who: TestClient = tokens[i % 3]!) =>
      who.send('POST', `/api/tunnels?project=${projects[i % 3]}`, { name: `t${i}`, region: 'local' });
    for (let i = 0; i < 500; i++) assert.equal((await create(i)).status, 200);
    assert.deepEqual([(await create(500)).status, (await create(501, cid)).status], [429, 200], 'sessions have their own');
    const own = { name: 'own', region: 'local', type: 'ingress', ingressDomains: ['www.own-names.com'] };
    assert.equal((await tokens[0]!.send('POST', `/api/tunnels?project=${projects[0]}`, own)).status, 200);
    await limited.close();
  });
});

describe('live events', () => {
  const readUntil = async (reader: ReadableStreamDefaultReader<Uint8Array>, pattern: RegExp): Promise<string> => {
    let text = '';
    for (const decoder = new TextDecoder(); !pattern.test(text); ) {
      const { value, done } = await reader.read();
      assert.ok(!done, `the stream ended after ${text}`);
      text += decoder.decode(value, { stream: true });
    }
    return text;
  };

  const openStream = async (person: SignedUp) => {
    const response = await person.send('GET', `/api/events?project=${person.projectId}`);
    return response.body!.getReader();
  };
  const eventOf = (name: string, status: string) =>
    `event: tunnel\ndata: ${JSON.stringify({ name, status, connectedClients: 0, condition: status === 'Created' ? 'unused' : 'unknown' })}\n\n`;

  it('begin with every tunnel of the project, on every connection, because a change may have been missed', async () => {
    const bea = await test.signUp('bea-live@example.com');
    const name = unique('known');
    await create(bea, { name });
    for (const status of ['Progressing', 'Created']) {
      const reader = await openStream(bea);
      assert.equal(await readUntil(reader, /data: .*\n\n$/), `: live\n\n${eventOf(name, status)}`);
      await reader.cancel();
      test.feed.serving.add(await idOf(name));
    }
  });

  it('report changes of the project’s own tunnels only', async () => {
    const [bea, bob] = [await test.signUp('bea-moved@example.com'), await test.signUp('bob-live@example.com')];
    const [mine, his] = [unique('mine'), unique('his')];
    await create(bea, { name: mine });
    await create(bob, { name: his });
    const reader = await openStream(bea);
    await readUntil(reader, /data: .*\n\n$/);
    test.feed.move([await idOf(his), await idOf(mine)]);
    assert.equal(await readUntil(reader, /\n\n$/), eventOf(mine, 'Progressing'));
    await reader.cancel();
  });

  it('tell when tunnels of the project were made or deleted', async () => {
    const [bea, bob] = [await test.signUp('bea-list@example.com'), await test.signUp('bob-list@example.com')];
    const reader = await openStream(bea);
    await create(bob, { name: unique() });
    const name = unique();
    await create(bea, { name });
    const id = await idOf(name);
    test.feed.move([id]);
    assert.equal(await readUntil(reader, /list/), `: live\n\n${eventOf(name, 'Progressing')}event: list\ndata: {}\n\n`);
    test.feed.move([id]);
    assert.equal(await readUntil(reader, /data/), eventOf(name, 'Progressing'));
    await bea.call('DELETE', tunnelOf(bea, name));
    test.feed.move([id]);
    assert.equal(await readUntil(reader, /data/), 'event: list\ndata: {}\n\n');
    test.feed.move([id]);
    assert.equal(await readUntil(reader, /data/), 'event: beat\ndata:\n\n');
    await reader.cancel();
  });

  it('end when the server stops', async () => {
    const other = await createTestControl();
    const bob = await other.signUp('bob@example.com');
    const response = await bob.send('GET', `/api/events?project=${bob.projectId}`);
    const text = response.text();
    await other.close();
    assert.match(await text, /: live/);
  });
});
