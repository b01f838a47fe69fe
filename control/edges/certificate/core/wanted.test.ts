import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Attempt } from './budget.ts';
import { type HeldCertificate, type Holdings, namesToCover, type WantedName } from './wanted.ts';

const now = 1_000;
const none: Holdings = { held: new Map(), attempts: [], given: [] };
const wildcard = '*.tunnels.example.com';
const generated = 'calm-river.tunnels.example.com';
const name = (text: string, projectId = ''): WantedName => ({ name: text, region: 'eu', projectId, ownerId: projectId });
const own = [name('eu.example.com'), name(wildcard)];
const hosts = [name(generated, 'p'), name('www.example.org', 'p')];
const failed = (at: number): Attempt => ({ ...name(wildcard), at, outcome: 'failed', retryAt: 0 });
const held = (expiresAt: number) =>
  new Map<string, HeldCertificate>([[wildcard, { name: wildcard, issuer: 'a', startsAt: 0, expiresAt }]]);

describe('namesToCover', () => {
  const cases: readonly [rule: string, holdings: Partial<Holdings>, left: readonly string[]][] = [
    ['leaves out generated names: our wildcard covers them', {}, [generated]],
    ['leaves them out after two failures of the wildcard', { attempts: [failed(1), failed(2)] }, [generated]],
    ['covers each name itself after three failures of the wildcard', { attempts: [failed(1), failed(2), failed(3)] }, []],
    [
      'leaves them out while the wildcard certificate is valid, despite three failures',
      { attempts: [failed(1), failed(2), failed(3)], held: held(now * 2) },
      [generated],
    ],
    [
      'covers each name itself in the last sixth of a wildcard that fails to renew',
      { attempts: [failed(1), failed(2), failed(3)], held: held(now * 1.1) },
      [],
    ],
    [
      'leaves out the hosts of a given file',
      { given: [{ hosts: ['eu.example.com'], notAfterMs: now + 1 }] },
      ['eu.example.com', generated],
    ],
    [
      'leaves out hosts under a given wildcard',
      { given: [{ hosts: ['*.example.org'], notAfterMs: now + 1 }] },
      [generated, 'www.example.org'],
    ],
    [
      'keeps our wildcard under a given wildcard of its parent',
      { given: [{ hosts: ['*.example.com'], notAfterMs: now + 1 }] },
      ['eu.example.com', generated],
    ],
    ['ignores an expired file', { given: [{ hosts: ['eu.example.com'], notAfterMs: now }] }, [generated]],
  ];
  for (const [rule, holdings, left] of cases) {
    test(rule, () => {
      const names = namesToCover(own, hosts, { ...none, ...holdings }, now).map((each) => each.name);
      const all = [...own, ...hosts].map((each) => each.name);
      assert.deepEqual(
        names,
        all.filter((each) => !left.includes(each)),
      );
    });
  }
});
