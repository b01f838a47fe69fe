import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import type { FeedCertificate } from '@underpass/wire/feed/feed.ts';
import fc from 'fast-check';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createWithLease } from '../../platform/store/lease.ts';
import type { Store } from '../../platform/store/store.ts';
import { addProject, addRegion, addTunnel, openMemoryStore, silentLog, testKeyRing } from '../feed/test-kit.ts';
import { keepAccountKey } from './acme/account-key.ts';
import { AcmeError } from './acme/problem.ts';
import { delegatesHere } from './address-check.ts';
import { type Authority, type IssueRequest, mayIssue, type RenewalInfo } from './authority.ts';
import { addCertificateMetrics } from './certificate-metrics.ts';
import { type Attempt, backOffMs, createLedger, decideOrder, failuresInARow, type OrderBudget } from './core/budget.ts';
import { isDue, momentIn } from './core/renewal.ts';
import { findDelegation } from './delegation.ts';
import { createGivenFiles } from './given-files.ts';
import { openLocalCa } from './local-ca.ts';
import type { OrderFailure } from './order.ts';
import { dropFolder, makeFolder } from './test-kit.ts';
import { createUncoveredNotice } from './uncovered-notice.ts';
import { createUpkeep, type Upkeep, type UpkeepDeps } from './upkeep.ts';
import { createRoot, issueLeaf } from './x509.ts';

const folders: string[] = [];
const stores: Store[] = [];
async function freshFolder(): Promise<string> {
  const folder = await makeFolder();
  folders.push(folder);
  return folder;
}
after(async () => {
  for (const store of stores) await store.close();
  for (const folder of folders) await dropFolder(folder);
});

const dayMs = 86_400_000;
const hourMs = 3_600_000;

describe('the local authority', () => {
  test('makes its root once, with a key file that only its owner may read', async () => {
    const home = await freshFolder();
    const first = await openLocalCa(home, Date.now);
    const again = await openLocalCa(home, Date.now);
    assert.equal(again.fingerprint, first.fingerprint);
    assert.match(first.fingerprint, /^[0-9a-f]{64}$/);
    assert.equal((await stat(join(home, 'ca-key.pem'))).mode & 0o777, 0o600);
  });

  test('issues leaves that its root signs and that may sign nothing', async () => {
    const ca = await openLocalCa(await freshFolder(), Date.now);
    const signal = new AbortController().signal;
    const { chainPem } = await ca.issue({ name: '*.tunnels.localhost', region: 'local', failures: 0, signal });
    const leaf = new X509Certificate(chainPem);
    const root = new X509Certificate(ca.certificatePem);
    assert.ok(leaf.verify(root.publicKey) && leaf.checkIssued(root));
    assert.equal(leaf.subjectAltName, 'DNS:*.tunnels.localhost');
    assert.equal(leaf.ca, false);
    assert.ok(chainPem.endsWith(ca.certificatePem), 'the root is last: clients pin it');
    assert.equal(leaf.checkHost('brave-otter.tunnels.localhost'), '*.tunnels.localhost');
  });
});

describe('given files', () => {
  const writePair = async (folder: string, name: string, host: string, over: { notAfter?: Date } = {}) => {
    const span = { notBefore: new Date(Date.now() - 2 * dayMs), notAfter: over.notAfter ?? new Date(Date.now() + dayMs) };
    const root = await createRoot('test', span);
    const leaf = await issueLeaf(root, [host], span);
    await writeFile(join(folder, `${name}.crt`), leaf.certificatePem);
    await writeFile(join(folder, `${name}.key`), leaf.privateKeyPem);
  };

  test('leaves out a broken, mismatched or expired pair and serves the others', async () => {
    const folder = await freshFolder();
    await writePair(folder, 'good', 'good.example.com');
    await writePair(folder, 'old', 'old.example.com', { notAfter: new Date(Date.now() - dayMs) });
    await writePair(folder, 'mixed', 'mixed.example.com');
    await writePair(folder, 'other', 'other.example.com');
    const { copyFile } = await import('node:fs/promises');
    await copyFile(join(folder, 'other.key'), join(folder, 'mixed.key'));
    await writeFile(join(folder, 'broken.crt'), 'no certificate');
    const given = createGivenFiles(folder, Date.now, silentLog);
    await given.read();
    assert.deepEqual(
      given
        .certificates()
        .flatMap((each) => each.hosts)
        .sort(),
      ['good.example.com', 'other.example.com'],
    );
  });

  test('reads the folder again when it changes', async () => {
    const folder = await freshFolder();
    const given = createGivenFiles(folder, Date.now, silentLog);
    await given.read();
    const changed = new Promise<void>((resolve) => given.watch(() => given.certificates().length === 1 && resolve()));
    await writePair(folder, 'new', 'new.example.com');
    await changed;
    given.close();
    assert.deepEqual(given.certificates()[0]?.hosts, ['new.example.com']);
  });
});

describe('budgets', () => {
  const now = 1_790_000_000_000;
  const attempt = (over: Partial<Attempt>): Attempt => ({
    name: 'a.com',
    projectId: 'p',
    ownerId: 'o',
    at: now - hourMs,
    outcome: 'issued',
    retryAt: 0,
    ...over,
  });
  const many = (count: number, over: Partial<Attempt>) =>
    Array.from({ length: count }, (_, at) => attempt({ name: `${at}.com`, ...over }));
  const budget: OrderBudget = { overall: 240, perProject: 40 };
  const decide = (wanted: Pick<Attempt, 'name' | 'projectId' | 'ownerId'>, attempts: readonly Attempt[], set = budget) =>
    decideOrder(wanted, createLedger(attempts), set, now).kind;
  const want = { name: 'new.com', projectId: 'p', ownerId: 'o' };

  const cases: readonly [name: string, attempts: readonly Attempt[], kind: string][] = [
    ['no attempt yet', [], 'go'],
    ['a failure two minutes ago', [attempt({ name: 'new.com', outcome: 'failed', at: now - 119_999 })], 'wait'],
    ['a failure longer ago than the back-off', [attempt({ name: 'new.com', outcome: 'failed', at: now - 120_000 })], 'go'],
    [
      'the retry time of the authority is still ahead',
      [attempt({ name: 'new.com', outcome: 'failed', retryAt: now + 1 })],
      'wait',
    ],
    ['the retry time of the authority is over', [attempt({ name: 'new.com', outcome: 'failed', retryAt: now })], 'go'],
    [
      'the retry time of the authority is over, the back-off is not',
      [attempt({ name: 'new.com', outcome: 'failed', at: now - 1, retryAt: now })],
      'wait',
    ],
    ['a crash interrupted the attempt', [attempt({ name: 'new.com', outcome: 'started', at: now - 1 })], 'wait'],
    [
      'a failure before the last success',
      [attempt({ name: 'new.com', at: now - 10 }), attempt({ name: 'new.com', outcome: 'failed', at: now - 20 })],
      'go',
    ],
    ['40 names of this project today', many(40, {}), 'wait'],
    ['40 names of another project today', many(40, { projectId: 'q' }), 'go'],
    ['40 names of this project yesterday', many(40, { at: now - 25 * hourMs }), 'go'],
    ['80 names of this account in other projects today', many(80, { projectId: 'q' }), 'wait'],
    ['80 names of another account today', many(80, { projectId: 'q', ownerId: 'other' }), 'go'],
    ['80 names of this account yesterday', many(80, { projectId: 'q', at: now - 25 * hourMs }), 'go'],
    ['240 names of all accounts today', many(240, { projectId: 'q', ownerId: 'other' }), 'wait'],
  ];
  for (const [name, attempts, kind] of cases) {
    test(`${name}: ${kind}`, () => assert.equal(decide(want, attempts), kind));
  }

  test('an operator can set other budgets', () => {
    const raised = { overall: 241, perProject: 41 };
    for (const attempts of [many(40, {}), many(80, { projectId: 'q' }), many(240, { projectId: 'q', ownerId: 'other' })])
      assert.deepEqual([decide(want, attempts), decide(want, attempts, raised)], ['wait', 'go']);
    assert.equal(decide(want, many(3, { projectId: 'q', ownerId: 'other' }), { overall: 3, perProject: 3 }), 'wait');
  });

  test('our own names are ordered, however many names the projects order', () => {
    assert.equal(decide({ name: 'eu.underpass.com', projectId: '', ownerId: '' }, many(1_000, {})), 'go');
  });

  test('the back-off allows at most three tries in the first hour and never exceeds a day', () => {
    for (let failures = 1; failures < 50; failures++)
      assert.ok(backOffMs(failures) <= dayMs && backOffMs(failures) >= backOffMs(failures - 1));
    let at = 0;
    let tries = 0;
    for (let failures = 0; at <= hourMs; failures++, tries++) at += backOffMs(failures + 1);
    assert.ok(tries <= 3 + 1);
  });

  test('counts failures since the last success only', () => {
    const outcomes = fc.array(fc.constantFrom('issued' as const, 'failed' as const));
    fc.assert(
      fc.property(outcomes, (list) => {
        const attempts = list.map((outcome, at) => attempt({ outcome, at }));
        assert.equal(failuresInARow(attempts, 'a.com').count, list.length - 1 - list.lastIndexOf('issued'));
      }),
    );
  });
});

describe('lifetime', () => {
  test('a certificate is due at two thirds of its life', () => {
    const life = { startsAt: 0, expiresAt: 90 * dayMs };
    assert.equal(isDue(life, undefined, 60 * dayMs - 1), false);
    assert.equal(isDue(life, undefined, 60 * dayMs), true);
  });
});

describe('upkeep', () => {
  let store: Store;
  let now: number;
  let asked: string[];
  let tunnel: (name: string, hosts: readonly string[]) => Promise<string>;
  const keyRing = testKeyRing();

  beforeEach(async () => {
    store = await openMemoryStore();
    stores.push(store);
    now = Date.now();
    asked = [];
    await addRegion(store.db, 'eu', { host: 'eu.example.com', wildcard: null });
    const ids = await addProject(store.db, 'ann');
    tunnel = (name, hosts) => addTunnel(store.db, { ...ids, region: 'eu', name, type: 'http', hosts });
  });

  /** Issues leaves that live for `lifeMs`, signed by a new root. */
  async function testAuthority(over: Partial<Authority> = {}, lifeMs = 90 * dayMs): Promise<Authority> {
    const root = await createRoot('test', { notBefore: new Date(0), notAfter: new Date(now + 1_000 * dayMs) });
    const issue = async ({ name }: IssueRequest) => {
      asked.push(name);
      const leaf = await issueLeaf(root, [name], { notBefore: new Date(now), notAfter: new Date(now + lifeMs) });
      return { chainPem: leaf.certificatePem, privateKeyPem: leaf.privateKeyPem };
    };
    return { id: 'test', local: false, canIssue: (name) => !name.startsWith('*.'), issue, ...over };
  }

  const open = (authority: Authority, over: Partial<UpkeepDeps> = {}): Upkeep =>
    createUpkeep({
      store,
      keyRing,
      clock: () => now,
      log: silentLog,
      authority,
      givenCertificates: () => [],
      budget: { overall: 240, perProject: 40 },
      pointsHere: async () => true,
      withLease: createWithLease(store, () => now),
      onIssued: () => {},
      ...over,
    });

  test('orders a name once, seals its key, and renews after two thirds of the life', async () => {
    await tunnel('web', ['www.example.com']);
    const upkeep = open(await testAuthority());
    await upkeep.run();
    await upkeep.run();
    assert.deepEqual(asked, ['eu.example.com', 'www.example.com']);
    const rows = await store.db.selectFrom('certificates').selectAll().execute();
    assert.ok(rows.every((row) => !row.key_sealed.includes('PRIVATE KEY')));
    now += 59 * dayMs;
    await upkeep.run();
    assert.equal(asked.length, 2);
    now += 2 * dayMs;
    await upkeep.run();
    assert.equal(asked.length, 4);
    assert.equal((await store.db.selectFrom('certificates').select('id').execute()).length, 2, 'the new one replaces the old');
  });

  test('orders the wildcard of a tunnel only once its record leads to the name of its project', async () => {
    const name = '*.apps.example.com';
    const tunnelId = await tunnel('web', [name]);
    await store.db.updateTable('tunnel_hosts').set({ apex_name: 'example.com' }).where('tunnel_id', '=', tunnelId).execute();
    const unproven = {
      verified_at: null,
      owned_apex: null,
      checked_at: null,
      misses: 0,
      first_missed_at: null,
      from_quick: null,
    };
    const domain = { id: 'd1', project_id: 'ann', apex_name: 'example.com', challenge: 'c0ffee', created_at: 1, ...unproven };
    await store.db.insertInto('domains').values(domain).execute();
    const without = open(await testAuthority());
    await without.run();
    assert.deepEqual(asked, ['eu.example.com'], 'no zone for proofs');
    const proofNames: (string | undefined)[] = [];
    const base = await testAuthority();
    const authority: Authority = {
      ...{ ...base, delegationZone: 'proofs.example.net' },
      issue: (request) => {
        proofNames.push(request.proofName);
        return base.issue(request);
      },
    };
    let alias: string | undefined;
    const dns = { alias: async () => alias };
    const upkeep = open(authority, { pointsHere: (each) => delegatesHere(store.db, dns, each, 'proofs.example.net') });
    await upkeep.run();
    now += 60_000;
    await store.db.updateTable('domains').set({ verified_at: now, owned_apex: 'example.com' }).execute();
    const { target } = (await findDelegation(store.db, name, 'proofs.example.net'))!;
    alias = target.replace(/^./, 'x');
    await upkeep.run();
    assert.deepEqual(proofNames, []);
    now += 60_000;
    alias = target;
    await upkeep.run();
    assert.deepEqual(proofNames, [target]);
    assert.match(target, /^[0-9a-f]{32}\.proofs\.example\.net$/);
    const { challenge } = await store.db.selectFrom('domains').select('challenge').executeTakeFirstOrThrow();
    await store.db
      .updateTable('domains')
      .set({ challenge: `${challenge}0` })
      .execute();
    assert.notEqual((await findDelegation(store.db, name, 'proofs.example.net'))!.target, target, 'each project has its own');
    await upkeep.close();
    await without.close();
  });

  describe('an authority that says when to renew (RFC 9773)', () => {
    const advised = async (window: () => RenewalInfo | undefined | Promise<never>, seen: string[] = []): Promise<Authority> => {
      const authority = await testAuthority();
      return {
        ...authority,
        issue: (request) => {
          if (request.replaces !== undefined) seen.push(request.name);
          return authority.issue(request);
        },
        renewal: async () => window(),
      };
    };
    const in_ = (startDay: number, endDay: number, askAgainMs?: number): RenewalInfo => ({
      window: { startMs: startOf + startDay * dayMs, endMs: startOf + endDay * dayMs },
      askAgainMs,
    });
    let startOf: number;
    beforeEach(() => {
      startOf = now;
    });

    test('decides the moment of renewal, and the order names the certificate it replaces', async () => {
      const replaced: string[] = [];
      const upkeep = open(await advised(() => in_(70, 71), replaced));
      await upkeep.run();
      now += 69 * dayMs;
      await upkeep.run();
      assert.equal(asked.length, 1, 'not at two thirds');
      now += 3 * dayMs;
      await upkeep.run();
      assert.equal(asked.length, 2);
      assert.deepEqual(replaced, ['eu.example.com']);
    });

    test('is asked again about a name that was not wanted in between, because its advice was forgotten', async () => {
      let questions = 0;
      const upkeep = open(
        await advised(() => {
          questions++;
          return in_(70, 71);
        }),
      );
      const id = await tunnel('web', ['www.example.com']);
      await upkeep.run();
      await upkeep.run();
      await upkeep.run();
      assert.equal(questions, 2, 'once for each name');
      await store.db.deleteFrom('tunnels').where('id', '=', id).execute();
      await upkeep.run();
      await tunnel('web', ['www.example.com']);
      await upkeep.run();
      assert.deepEqual([questions, asked.length], [3, 2]);
    });

    test('renews at once when the window has moved into the past, as before a revocation', async () => {
      let info = in_(60, 61, 3_600_000);
      const upkeep = open(await advised(() => info));
      await upkeep.run();
      await upkeep.run();
      info = in_(-2, -1, 3_600_000);
      now += hourMs / 2;
      await upkeep.run();
      assert.equal(asked.length, 1, 'the advice still holds');
      now += hourMs;
      await upkeep.run();
      assert.equal(asked.length, 2);
    });

    test('renews at two thirds without advice, and at the last sixth against later advice', async () => {
      for (const [say, dueDay] of [
        [() => undefined, 60],
        [() => assert.fail('unreachable'), 60],
        [() => in_(200, 201), 75],
      ] as const) {
        await store.db.deleteFrom('certificates').execute();
        await store.db.deleteFrom('certificate_attempts').execute();
        asked.length = 0;
        startOf = now;
        const upkeep = open(await advised(say));
        await upkeep.run();
        now = startOf + dueDay * dayMs - hourMs;
        await upkeep.run();
        assert.equal(asked.length, 1, `before day ${dueDay}`);
        now = startOf + dueDay * dayMs + hourMs;
        await upkeep.run();
        assert.equal(asked.length, 2, `after day ${dueDay}`);
      }
    });

    test('spreads the names over the window, each at its own moment', () => {
      fc.assert(
        fc.property(fc.string(), fc.nat(), fc.integer({ min: 1, max: 10 ** 9 }), (name, startMs, length) => {
          const moment = momentIn({ startMs, endMs: startMs + length }, name);
          assert.ok(moment >= startMs && moment < startMs + length);
        }),
      );
      const moments = Array.from({ length: 1_000 }, (_, at) => momentIn({ startMs: 0, endMs: 10 }, `host-${at}.example.com`));
      for (let tenth = 0; tenth < 10; tenth++) assert.ok(moments.filter((each) => each === tenth).length > 50, `tenth ${tenth}`);
    });
  });

  test('does not renew the certificate of a deleted tunnel', async () => {
    await tunnel('web', ['www.example.com']);
    const upkeep = open(await testAuthority());
    await upkeep.run();
    await store.db.deleteFrom('tunnels').execute();
    now += 61 * dayMs;
    await upkeep.run();
    assert.deepEqual(asked, ['eu.example.com', 'www.example.com', 'eu.example.com']);
  });

  test('a changed tunnel gets its certificate soon, and no other tunnel is read for it', async () => {
    let issued = (): void => {};
    const upkeep = open(await testAuthority(), { onIssued: () => issued() });
    await upkeep.run();
    await tunnel('old', ['old.example.com']);
    const id = await tunnel('new', ['new.example.com']);
    const isIssued = new Promise<void>((resolve) => {
      issued = resolve;
    });
    upkeep.nudge([id]);
    upkeep.nudge(['a deleted one']);
    await isIssued;
    assert.deepEqual(asked, ['eu.example.com', 'new.example.com']);
    await upkeep.run();
    assert.deepEqual(asked.slice(2), ['old.example.com'], 'the pass over all names finds it');
  });

  test('two processes order a name once', async () => {
    await tunnel('web', ['www.example.com']);
    const authority = await testAuthority();
    await Promise.all([open(authority).run(), open(authority).run()]);
    assert.deepEqual(asked.toSorted(), ['eu.example.com', 'www.example.com']);
  });

  test('does not order a name that a given file serves', async () => {
    await tunnel('web', ['www.example.com']);
    const file = { id: 'f', hosts: ['*.example.com'], certificatePem: '', privateKeyPem: '', notAfterMs: now + dayMs };
    await open(await testAuthority(), { givenCertificates: () => [file] }).run();
    assert.deepEqual(asked, []);
  });

  test('tries a failed name again after the back-off, with the next kind of challenge', async () => {
    await tunnel('web', ['www.example.com']);
    const failures: number[] = [];
    const authority = await testAuthority();
    const failing: Authority = {
      ...authority,
      issue: async (request) => {
        if (request.name !== 'www.example.com') return authority.issue(request);
        failures.push(request.failures);
        throw new Error('no proof');
      },
    };
    const upkeep = open(failing);
    await upkeep.run();
    await upkeep.run();
    assert.deepEqual(failures, [0]);
    now += 3 * 60_000;
    await upkeep.run();
    assert.deepEqual(failures, [0, 1]);
  });

  test('no process asks an authority before the retry time it gave', async () => {
    await tunnel('web', ['www.example.com']);
    let asks = 0;
    const busy: Authority = {
      ...(await testAuthority()),
      issue: async () => {
        asks += 1;
        throw new AcmeError('rate-limited', 'too many certificates', 6 * hourMs);
      },
    };
    const names = 2;
    await open(busy).run();
    now += 6 * hourMs - 1;
    await open(busy).run();
    assert.equal(asks, names);
    now += 1;
    await open(busy).run();
    assert.equal(asks, 2 * names);
    now += hourMs;
    await open({ ...busy, id: 'another' }).run();
    assert.equal(asks, 3 * names, 'the retry time holds for one authority only');
  });

  describe('a wildcard that the authority does not issue', () => {
    const wildcard = '*.tunnels.example.com';
    const generated = 'calm-river.tunnels.example.com';
    const minuteMs = 60_000;
    const troubles: OrderFailure[] = [];
    let broken: boolean;

    const openBroken = async (lifeMs = 90 * dayMs): Promise<Upkeep> => {
      const authority = await testAuthority({ canIssue: () => true }, lifeMs);
      const failing: Authority = {
        ...authority,
        issue: async (request) => {
          if (!broken || request.name !== wildcard) return authority.issue(request);
          throw new Error('the name server answered REFUSED');
        },
      };
      return open(failing, { onTrouble: async (trouble) => void troubles.push(trouble) });
    };
    /** Runs `times` passes, each after the back-off. */
    const failTimes = async (upkeep: Upkeep, times: number): Promise<void> => {
      for (let each = 0; each < times; each++) {
        await upkeep.run();
        now += backOffMs(each + 1) + minuteMs;
      }
    };

    beforeEach(async () => {
      broken = true;
      troubles.length = 0;
      await store.db.updateTable('regions').set({ wildcard_ingress_domain: 'tunnels.example.com' }).execute();
      await tunnel('web', [generated]);
    });

    test('gives each name its own certificate after three failures, and mails the operator once', async () => {
      const upkeep = await openBroken();
      await failTimes(upkeep, 2);
      await upkeep.run();
      assert.deepEqual(asked, ['eu.example.com'], 'the names wait for the wildcard until the third failure');
      assert.deepEqual(troubles, [
        { name: wildcard, failures: 3, why: 'the name server answered REFUSED', expiresAt: undefined },
      ]);
      now += minuteMs;
      await upkeep.run();
      assert.deepEqual(asked, ['eu.example.com', generated]);
      await failTimes(upkeep, 3);
      assert.equal(troubles.length, 1);
    });

    test('covers its names again once issued, and their own certificates are not renewed', async () => {
      const upkeep = await openBroken();
      await failTimes(upkeep, 3);
      await upkeep.run();
      broken = false;
      now += dayMs;
      await upkeep.run();
      assert.deepEqual(asked, ['eu.example.com', generated, wildcard]);
      now += 70 * dayMs;
      await upkeep.run();
      assert.deepEqual(asked.slice(3).toSorted(), [wildcard, 'eu.example.com'].toSorted());
    });

    test('covers its names until the last sixth of its life, even while its renewal fails', async () => {
      broken = false;
      const upkeep = await openBroken();
      await upkeep.run();
      assert.deepEqual(asked.toSorted(), [wildcard, 'eu.example.com'].toSorted());
      broken = true;
      for (let day = 1; day < 75; day++) {
        now += dayMs;
        await upkeep.run();
      }
      assert.ok(!asked.includes(generated));
      assert.equal(troubles.length, 1);
      for (let day = 75; day < 90; day++) {
        now += dayMs;
        await upkeep.run();
      }
      assert.equal(asked.filter((name) => name === generated).length, 1);
      assert.ok(troubles.length >= 5 && troubles.length <= 9, `daily in the last week: ${troubles.length}`);
    });

    test("a user's name that fails its proof sends no mail to the operator", async () => {
      broken = false;
      await tunnel('own', ['www.example.org']);
      const authority = await testAuthority({ canIssue: () => true });
      const upkeep = open(
        {
          ...authority,
          issue: async (request) => {
            if (request.name === 'www.example.org') throw new Error('no proof');
            return authority.issue(request);
          },
        },
        { onTrouble: async (trouble) => void troubles.push(trouble) },
      );
      await failTimes(upkeep, 6);
      assert.deepEqual(troubles, []);
    });
  });

  test('metrics show when certificates end, which names have none, and how orders went', async () => {
    await tunnel('web', ['www.example.com', 'shop.example.com']);
    const registry = new Registry();
    const given = { id: 'f', hosts: ['shop.example.com'], certificatePem: '', privateKeyPem: '', notAfterMs: now + 5 * dayMs };
    const deps = { registry, store, clock: () => now, givenCertificates: () => [given] };
    const metrics = addCertificateMetrics(deps);
    const scrape = async (): Promise<string> => {
      now += 61_000;
      return registry.metrics();
    };
    const value = (text: string, line: string): number =>
      Number(
        text
          .split('\n')
          .find((each) => each.startsWith(`${line} `))
          ?.split(' ')[1] ?? Number.NaN,
      );
    const before = await scrape();
    assert.equal(value(before, 'underpass_certificates_missing{region="eu",kind="host"}'), 1);
    assert.equal(value(before, 'underpass_certificates_missing{region="eu",kind="tunnel"}'), 1);
    const authority = await testAuthority();
    const failing: Authority = {
      ...authority,
      issue: async (request) => (request.name === 'eu.example.com' ? assert.fail('no') : authority.issue(request)),
    };
    const madeAt = Math.floor(now / 1000);
    await open(failing, { onOrder: metrics.observe, givenCertificates: () => [given] }).run();
    const text = await scrape();
    assert.equal(value(text, 'underpass_certificates_missing{region="eu",kind="host"}'), 1);
    assert.equal(value(text, 'underpass_certificates_missing{region="eu",kind="tunnel"}'), 0);
    assert.equal(value(text, 'underpass_certificate_orders_total{kind="host",outcome="failed"}'), 1);
    assert.equal(value(text, 'underpass_certificate_orders_total{kind="tunnel",outcome="issued"}'), 1);
    const ends = value(text, 'underpass_certificate_expiry_timestamp_seconds{region="eu",kind="tunnel"}');
    assert.ok(Math.abs(ends - given.notAfterMs / 1000) < 1, 'the earliest end');
    assert.ok(Number.isNaN(value(text, 'underpass_certificate_expiry_timestamp_seconds{region="eu",kind="host"}')), `${madeAt}`);
  });

  test('metrics miss no wildcard that the authority cannot issue, unless files are the only source', async () => {
    await store.db.updateTable('regions').set({ wildcard_ingress_domain: 'tunnels.example.com' }).execute();
    const scrape = async (canIssue?: (wanted: { readonly name: string }) => boolean): Promise<string> => {
      const registry = new Registry();
      const deps = { registry, store, clock: () => now, givenCertificates: () => [] };
      addCertificateMetrics(canIssue === undefined ? deps : { ...deps, canIssue });
      return registry.metrics();
    };
    const missing = /underpass_certificates_missing\{region="eu",kind="wildcard"\} (\d)/;
    assert.equal(missing.exec(await scrape())?.[1], '1');
    assert.equal(missing.exec(await scrape(() => true))?.[1], '1');
    assert.equal(missing.exec(await scrape(({ name }) => !name.startsWith('*.')))?.[1], '0');
    const { delegationZone: _, ...none } = { delegationZone: '', ...(await testAuthority()) };
    const some: Authority = { ...none, delegationZone: 'proofs.example.net' };
    const theirs = { name: '*.apps.example.com', projectId: 'ann' };
    assert.deepEqual(
      [mayIssue(none, theirs), mayIssue(some, theirs)],
      [false, true],
      "a user's wildcard needs a zone for proofs",
    );
  });

  test('without an authority, the log lists the names without a certificate once, and again when they change', async () => {
    const lines: { readonly names: readonly string[] }[] = [];
    const log = pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line)) });
    let given: readonly FeedCertificate[] = [];
    const certificate = (host: string) => ({
      id: host,
      hosts: [host],
      certificatePem: '',
      privateKeyPem: '',
      notAfterMs: now + 1,
    });
    const tell = createUncoveredNotice({ store, clock: () => now, log, givenCertificates: () => given });
    const told = async (): Promise<readonly string[]> => {
      await tell();
      return lines.splice(0).flatMap(({ names }) => names);
    };
    assert.deepEqual(await told(), ['eu.example.com']);
    assert.deepEqual(await told(), []);
    await addRegion(store.db, 'us', { host: 'us.example.com', wildcard: 'us.example.com' });
    assert.deepEqual(await told(), ['eu.example.com', 'us.example.com', '*.us.example.com']);
    given = [certificate('*.example.com')];
    assert.deepEqual(await told(), ['*.us.example.com']);
    given = [...given, certificate('*.us.example.com')];
    assert.deepEqual(await told(), []);
    now += 1;
    assert.equal((await told()).length, 3, 'the given certificates have expired');
  });

  describe('one account with many projects', () => {
    /** Projects of one owner, each with a tunnel of `hostsEach` names. */
    const crowd = async (projects: number, hostsEach: number): Promise<void> => {
      const { userId } = await addProject(store.db, 'many');
      for (let at = 0; at < projects; at++) {
        const { groupId, projectId, userId: other } = await addProject(store.db, `many-${at}`);
        await store.db.updateTable('members').set({ user_id: userId }).where('user_id', '=', other).execute();
        const hosts = Array.from({ length: hostsEach }, (_, host) => `a${host}.p${at}.example.net`);
        await addTunnel(store.db, { projectId, groupId, region: 'eu', name: 'web', type: 'http', hosts });
      }
    };
    const ofCrowd = (): number => asked.filter((name) => name.endsWith('.example.net')).length;

    test('has the budget of one account, even after it deletes its projects', async () => {
      await crowd(5, 25);
      const upkeep = open(await testAuthority());
      await upkeep.run();
      // Orders that run at the same time may exceed the budget by their number.
      assert.ok(ofCrowd() >= 80 && ofCrowd() < 84, `${ofCrowd()}`);
      const before = ofCrowd();
      await store.db.deleteFrom('tunnels').execute();
      await store.db.deleteFrom('projects').where('id', 'like', 'many-%').execute();
      const { groupId, projectId, userId } = await addProject(store.db, 'many-again');
      const owner = store.db.selectFrom('members').select('user_id').where('project_id', '=', 'many');
      await store.db.updateTable('members').set({ user_id: owner }).where('user_id', '=', userId).execute();
      await addTunnel(store.db, { projectId, groupId, region: 'eu', name: 'web', type: 'http', hosts: ['b.example.net'] });
      await tunnel('late', ['www.example.com']);
      await upkeep.run();
      assert.equal(ofCrowd(), before);
      assert.ok(asked.includes('www.example.com'));
    });

    test('does not keep other accounts waiting for its many names', async () => {
      await crowd(21, 100);
      await tunnel('late', ['zzz.example.org']);
      const looked: string[] = [];
      const pointsHere = async (name: string): Promise<boolean> => {
        looked.push(name);
        return !name.endsWith('.example.net');
      };
      await open(await testAuthority(), { pointsHere }).run();
      assert.ok(asked.includes('zzz.example.org'));
      assert.ok(looked.indexOf('zzz.example.org') < 5, 'the name waits for few look-ups');
    });

    test('does not delay a new name while its own names are looked up', async () => {
      await crowd(5, 25);
      const looked: string[] = [];
      const slow = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      const pointsHere = async (name: string): Promise<boolean> => {
        looked.push(name);
        if (!name.endsWith('.example.net')) return true;
        begun.resolve();
        await slow.promise;
        return false;
      };
      const upkeep = open(await testAuthority(), { pointsHere });
      const running = upkeep.run();
      await begun.promise;
      await tunnel('late', ['zzz.example.org']);
      void upkeep.run();
      slow.resolve();
      await running;
      assert.ok(asked.includes('zzz.example.org'));
      assert.ok(looked.indexOf('zzz.example.org') < 10, `${looked.indexOf('zzz.example.org')} were looked at before it`);
      assert.equal(new Set(looked).size, 127, 'every other name is looked up too');
    });

    test('does not delay any other name, old or new, while one of its orders hangs', async () => {
      await crowd(1, 10);
      const hangs = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      const lateIsAsked = Promise.withResolvers<void>();
      const authority = await testAuthority();
      const issue: Authority['issue'] = async (request) => {
        if (request.name === 'zzz.example.org') lateIsAsked.resolve();
        if (request.name !== 'a0.p0.example.net') return authority.issue(request);
        begun.resolve();
        await hangs.promise;
        return authority.issue(request);
      };
      const upkeep = open({ ...authority, issue });
      const running = upkeep.run();
      await begun.promise;
      await tunnel('late', ['zzz.example.org']);
      void upkeep.run();
      const ended = running.then(() => assert.fail('the pass ended while the order hangs'));
      await Promise.race([lateIsAsked.promise, ended]);
      hangs.resolve();
      await Promise.allSettled([running, ended]);
      assert.equal(new Set(asked).size, asked.length, 'each name is ordered once');
      assert.equal(ofCrowd(), 10);
    });

    test('all of our own names come before all others', async () => {
      await crowd(1, 2);
      await addRegion(store.db, 'us', { host: 'us.example.com', wildcard: null });
      const looked: string[] = [];
      const pointsHere = async (name: string): Promise<boolean> => looked.push(name) < 0;
      await open(await testAuthority(), { pointsHere }).run();
      assert.deepEqual(looked.slice(0, 2).toSorted(), ['eu.example.com', 'us.example.com']);
    });
  });

  test('logs which of our own names do not point here yet, and orders nothing', async () => {
    await tunnel('web', ['www.example.com']);
    const warned: unknown[] = [];
    const log = { ...silentLog, warn: ({ name }: { name: string }) => void warned.push(name) } as UpkeepDeps['log'];
    const upkeep = open(await testAuthority(), { pointsHere: async () => false, log });
    await upkeep.run();
    assert.deepEqual(warned, ['eu.example.com']);
    assert.deepEqual(asked, []);
  });

  test('looks up a name that pointed elsewhere again once its tunnel is deleted and made again', async () => {
    const looked: string[] = [];
    const pointsHere = async (name: string): Promise<boolean> => {
      looked.push(name);
      return name === 'eu.example.com';
    };
    const upkeep = open(await testAuthority(), { pointsHere });
    const ofTunnel = () => looked.filter((name) => name === 'www.example.com').length;
    await tunnel('web', ['www.example.com']);
    await upkeep.run();
    await upkeep.run();
    assert.equal(ofTunnel(), 1, 'not again so soon');
    await store.db.deleteFrom('tunnels').execute();
    await upkeep.run();
    await tunnel('web', ['www.example.com']);
    await upkeep.run();
    assert.equal(ofTunnel(), 2);
  });

  test('a certificate is not kept if its project gave one of its own, without a fallback, during the order', async () => {
    const tunnelId = await tunnel('web', ['www.example.com']);
    const base = await testAuthority();
    const own = { id: 'own-1', tunnel_id: tunnelId, host: 'www.example.com', chain_pem: '', key_sealed: '', warning: '' };
    const issue: Authority['issue'] = async (request) => {
      const row = { ...own, fallback: 0 as const, starts_at: 0, expires_at: now + dayMs, created_at: now };
      if (request.name === own.host) await store.db.insertInto('own_certificates').values(row).execute();
      return base.issue(request);
    };
    await open({ ...base, issue }).run();
    assert.ok(asked.includes(own.host));
    const kept = await store.db.selectFrom('certificates').select('name').execute();
    assert.deepEqual(kept, [{ name: 'eu.example.com' }]);
  });

  test('a certificate for another name is never stored', async () => {
    await tunnel('web', ['www.example.com']);
    const authority = await testAuthority();
    const lying: Authority = { ...authority, issue: (request) => authority.issue({ ...request, name: 'bank.example' }) };
    await open(lying).run();
    assert.deepEqual(await store.db.selectFrom('certificates').select('name').execute(), []);
  });

  test('replaces the certificates of another authority', async () => {
    const upkeep = open(await testAuthority());
    await upkeep.run();
    await open(await testAuthority({ id: 'another' })).run();
    assert.deepEqual(asked, ['eu.example.com', 'eu.example.com']);
  });
});

describe('the account key', () => {
  test('is made once, sealed, and the same for every process', async () => {
    const store = await openMemoryStore();
    stores.push(store);
    const keyRing = testKeyRing();
    const [one, other] = await Promise.all([
      keepAccountKey(store, keyRing, 'https://a/dir'),
      keepAccountKey(store, keyRing, 'https://a/dir'),
    ]);
    assert.equal(one, other);
    const row = await store.db.selectFrom('settings').selectAll().executeTakeFirstOrThrow();
    assert.doesNotMatch(row.value, /PRIVATE KEY/);
  });
});
