import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type Answer, decode, encode, type RecordType } from 'dns-packet';
import { createDns } from './dns.ts';
import type { DnsPort } from './port.ts';
import { createResolver, type RecordResolver } from './resolver.ts';
import { createSharedAnswers } from './shared-answers.ts';

type Reply = { readonly answers?: readonly Answer[]; readonly rcode?: number } | 'silence' | 'garbage';

const authoritative = 0x0400;
const responseCode = { SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const;

/** A DNS server with the answers in `replies`, by `TYPE name`. Every other name is NXDOMAIN. */
function createNameServer() {
  const replies = new Map<string, Reply>();
  const asked: string[] = [];
  const socket: Socket = createSocket('udp4');
  socket.on('message', (packet, from) => {
    const query = decode(packet);
    const question = query.questions?.[0];
    const key = `${question?.type} ${question?.name.toLowerCase()}`;
    asked.push(key);
    const reply = replies.get(key) ?? { rcode: responseCode.NXDOMAIN };
    if (reply === 'silence') return;
    if (reply === 'garbage') return socket.send(Buffer.from('not dns'), from.port, from.address);
    const flags = authoritative | (reply.rcode ?? 0);
    const answer = encode({
      type: 'response',
      id: query.id ?? 0,
      flags,
      questions: query.questions ?? [],
      answers: [...(reply.answers ?? [])],
    });
    socket.send(answer, from.port, from.address);
  });
  return {
    replies,
    asked,
    listen: () => new Promise<number>((resolve) => socket.bind(0, '127.0.0.1', () => resolve(socket.address().port))),
    close: () => socket.close(),
  };
}

const record = (type: RecordType, name: string, data: unknown): Answer => ({ type, name, ttl: 60, data }) as Answer;
const txt = (name: string, ...strings: string[]): Answer => record('TXT', name, strings);

/** The resolver asks again after a third of this; a busy machine answers within that third. */
const timeoutMs = 3_000;

const server = createNameServer();
let resolver: RecordResolver;
let dns: DnsPort;

before(async () => {
  const port = await server.listen();
  resolver = createResolver({ servers: [{ address: '127.0.0.1', port }], timeoutMs });
  dns = createDns({ resolver, ownHosts: async () => ['eu.underpass.test'], emptyMs: 0 });
});
after(() => {
  resolver.close();
  server.close();
});
beforeEach(() => {
  server.replies.clear();
  server.asked.length = 0;
});

const value = 'underpass-domain-verify=abc';

describe('checkChallenge', () => {
  const cases: readonly [name: string, replies: Record<string, Reply>, expected: string][] = [
    ['the value alone', { 'TXT example.com': { answers: [txt('example.com', value)] } }, 'found'],
    [
      'among many',
      { 'TXT example.com': { answers: [txt('example.com', 'v=spf1 -all'), txt('example.com', value), txt('example.com', 'x')] } },
      'found',
    ],
    [
      'in several strings',
      { 'TXT example.com': { answers: [txt('example.com', 'underpass-', 'domain-verify', '=abc')] } },
      'found',
    ],
    [
      'under the label',
      { 'TXT _underpass-challenge.example.com': { answers: [txt('_underpass-challenge.example.com', value)] } },
      'found',
    ],
    [
      'behind a CNAME at the label',
      {
        'TXT _underpass-challenge.example.com': {
          answers: [record('CNAME', '_underpass-challenge.example.com', 'proof.example.net'), txt('proof.example.net', value)],
        },
      },
      'found',
    ],
    ['as a prefix of another value', { 'TXT example.com': { answers: [txt('example.com', `${value}def`)] } }, 'missing'],
    ['as a suffix of another value', { 'TXT example.com': { answers: [txt('example.com', `x${value}`)] } }, 'missing'],
    ['in quotes', { 'TXT example.com': { answers: [txt('example.com', `"${value}"`)] } }, 'missing'],
    ['with white space after it', { 'TXT example.com': { answers: [txt('example.com', `${value} `)] } }, 'missing'],
    ['of another project', { 'TXT example.com': { answers: [txt('example.com', 'underpass-domain-verify=abd')] } }, 'missing'],
    [
      'in two records that only together are it',
      { 'TXT example.com': { answers: [txt('example.com', 'underpass-domain-'), txt('example.com', 'verify=abc')] } },
      'missing',
    ],
    ['only on a neighbour name', { 'TXT www.example.com': { answers: [txt('www.example.com', value)] } }, 'missing'],
    ['no data', { 'TXT example.com': {}, 'TXT _underpass-challenge.example.com': {} }, 'missing'],
    ['no such name', {}, 'missing'],
    ['SERVFAIL', { 'TXT example.com': { rcode: responseCode.SERVFAIL } }, 'unknown'],
    ['REFUSED', { 'TXT example.com': { rcode: responseCode.REFUSED } }, 'unknown'],
    ['silence', { 'TXT example.com': 'silence' }, 'unknown'],
    ['garbage', { 'TXT example.com': 'garbage' }, 'unknown'],
    [
      'SERVFAIL at one name and the proof at the other',
      {
        'TXT example.com': { rcode: responseCode.SERVFAIL },
        'TXT _underpass-challenge.example.com': { answers: [txt('_underpass-challenge.example.com', value)] },
      },
      'found',
    ],
  ];
  for (const [name, replies, expected] of cases) {
    test(`${name}: ${expected}`, async () => {
      for (const [key, reply] of Object.entries(replies)) server.replies.set(key, reply);
      assert.equal(await dns.checkChallenge('example.com', 'abc'), expected);
    });
  }

  test('finds a proof at the next check after it was missing: nothing is cached', async () => {
    assert.equal(await dns.checkChallenge('example.com', 'abc'), 'missing');
    server.replies.set('TXT example.com', { answers: [txt('example.com', value)] });
    assert.equal(await dns.checkChallenge('example.com', 'abc'), 'found');
  });

  test('a silent server costs no more than the timeout', async () => {
    server.replies.set('TXT example.com', 'silence').set('TXT _underpass-challenge.example.com', 'silence');
    const start = performance.now();
    await dns.checkChallenge('example.com', 'abc');
    assert.ok(performance.now() - start < 2 * timeoutMs, 'the two questions ran one after the other, or too many tries');
  });

  test('answers unknown at once to questions beyond the bound', async () => {
    server.replies.set('TXT slow.example.com', 'silence');
    const flood = Array.from({ length: 1_000 }, () => resolver.txt('slow.example.com'));
    const turnedAway = await Promise.race([flood.at(-1), new Promise((resolve) => setImmediate(resolve, 'late'))]);
    assert.equal(turnedAway, 'unknown');
    const closing = setInterval(() => resolver.close(), 5);
    await Promise.all(flood);
    clearInterval(closing);
  });
});

describe('lookup', () => {
  test('returns addresses of both families, through a CNAME', async () => {
    server.replies.set('A www.example.com', {
      answers: [record('CNAME', 'www.example.com', 'eu.example.net'), record('A', 'eu.example.net', '203.0.113.7')],
    });
    server.replies.set('AAAA www.example.com', { answers: [record('AAAA', 'www.example.com', '2001:db8::7')] });
    assert.deepEqual(await dns.lookup('www.example.com'), ['203.0.113.7', '2001:db8::7']);
  });

  test('returns no addresses for a missing name, and unknown without an answer', async () => {
    server.replies.set('A gone.example.com', { rcode: responseCode.SERVFAIL }).set('AAAA gone.example.com', 'silence');
    assert.equal(await dns.lookup('gone.example.com'), 'unknown');
    assert.deepEqual(await dns.lookup('nowhere.example.com'), []);
  });

  test('one family that answers is enough; hidden addresses and none are the same beside one that does not', async () => {
    server.replies.set('A half.example.com', { answers: [record('A', 'half.example.com', '203.0.113.7')] });
    server.replies.set('AAAA half.example.com', { rcode: responseCode.SERVFAIL });
    server.replies.set('A db.example.com', { answers: [record('A', 'db.example.com', '10.0.0.5')] });
    server.replies.set('AAAA db.example.com', { rcode: responseCode.SERVFAIL });
    server.replies.set('AAAA none.example.com', { rcode: responseCode.SERVFAIL });
    assert.deepEqual(await dns.lookup('half.example.com'), ['203.0.113.7']);
    assert.deepEqual([await dns.lookup('db.example.com'), await dns.lookup('none.example.com')], ['unknown', 'unknown']);
  });

  for (const [address, family] of [
    ['10.0.0.5', 'A'],
    ['127.0.0.1', 'A'],
    ['169.254.169.254', 'A'],
    ['192.168.1.1', 'A'],
    ['100.64.0.1', 'A'],
    ['0.0.0.0', 'A'],
    ['::1', 'AAAA'],
    ['fd00::1', 'AAAA'],
    ['fe80::1', 'AAAA'],
    ['::ffff:10.0.0.1', 'AAAA'],
    ['::10.0.0.1', 'AAAA'],
    ['fec0::1', 'AAAA'],
    ['64:ff9b::a00:1', 'AAAA'],
    ['64:ff9b:1::a00:1', 'AAAA'],
    ['2001:0:a00:1::', 'AAAA'],
    ['2002:a00:1::1', 'AAAA'],
  ] as const) {
    test(`never returns the inside address ${address}`, async () => {
      server.replies.set(`${family} db.example.com`, { answers: [record(family, 'db.example.com', address)] });
      assert.deepEqual(await dns.lookup('db.example.com'), []);
      assert.deepEqual(await dns.hosts.ask('db.example.com'), []);
    });
  }

  test('asks the same questions, and takes as long, whether addresses are hidden or there are none', async () => {
    const timed = createDns({ resolver, ownHosts: async () => ['eu.underpass.test'], emptyMs: 300 });
    server.replies.set('A db.example.com', { answers: [record('A', 'db.example.com', '10.0.0.5')] });
    const traces = [];
    for (const host of ['db.example.com', 'none.example.com']) {
      const [from, start] = [server.asked.length, performance.now()];
      assert.deepEqual(await timed.lookup(host), []);
      assert.ok(performance.now() - start > 290, host);
      traces.push(
        server.asked
          .slice(from)
          .map((question) => String(question).replace(host, 'HOST'))
          .sort(),
      );
    }
    assert.deepEqual(traces[0], traces[1]);
  });

  test('returns inside addresses that are our own data plane, so a private installation works', async () => {
    server.replies.set('A eu.underpass.test', { answers: [record('A', 'eu.underpass.test', '10.0.0.9')] });
    server.replies.set('A www.example.com', {
      answers: [record('A', 'www.example.com', '10.0.0.9'), record('A', 'www.example.com', '10.0.0.5')],
    });
    assert.deepEqual(await dns.lookup('eu.underpass.test'), ['10.0.0.9']);
    assert.deepEqual(await dns.lookup('www.example.com'), ['10.0.0.9']);
  });

  test('asks no server about localhost or about an address', async () => {
    const local = createDns({ resolver, ownHosts: async () => ['local.localhost'], emptyMs: 0 });
    assert.deepEqual(await local.lookup('127.0.0.1'), []);
    assert.deepEqual(await local.lookup('local.localhost'), ['127.0.0.1', '::1']);
    assert.deepEqual(await local.lookup('brave-otter.tunnels.localhost'), ['127.0.0.1', '::1']);
    assert.deepEqual(server.asked, []);
  });
});

describe('shared answers', () => {
  test('name the provider of a zone by all of its name servers, and do not name a look-alike', async () => {
    const zone = (name: string, ...servers: string[]) =>
      server.replies.set(`NS ${name}`, { answers: servers.map((host) => record('NS', name, host)) });
    zone('example.com', 'Ada.NS.Cloudflare.com', 'bob.ns.cloudflare.com');
    zone('example.net', 'ada.ns.cloudflare.com.example.net');
    zone('example.org', 'ada.ns.cloudflare.com', 'ns1.digitalocean.com');
    server.replies.set('NS example.edu', 'silence');
    const zones = ['example.com', 'example.net', 'example.org', 'example.edu'];
    assert.deepEqual(await Promise.all(zones.map(dns.providers.ask)), ['cloudflare', 'other', 'other', 'other']);
  });

  test('a host is asked once at a time, kept for a moment, and the oldest goes beyond the bound', async () => {
    let [now, asked] = [0, 0];
    const shared = createSharedAnswers(async (name) => `${name} ${++asked}`, { keptMs: 10, most: 2, clock: () => now });
    assert.deepEqual(await Promise.all([shared.ask('a'), shared.ask('a')]), ['a 1', 'a 1']);
    assert.equal(shared.recent('a'), 'a 1');
    assert.equal(await shared.ask('a'), 'a 2');
    now = 10;
    assert.equal(shared.recent('a'), undefined);
    for (const name of ['a', 'b', 'c']) await shared.ask(name);
    assert.deepEqual(['a', 'b', 'c'].map(shared.recent), [undefined, 'b 4', 'c 5']);
  });
});
