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

describe('the names that the authority covers', () => {
  const cases: readonly [rule: string, holdings: Partial<Holdings>, left: readonly string[]][] = [
    ['our wildcard stands for the names under it', {}, [generated]],
    ['two failures in a row leave it so', { attempts: [failed(1), failed(2)] }, [generated]],
    ['three failures give each name its own', { attempts: [failed(1), failed(2), failed(3)] }, []],
    ['not while a wildcard lives', { attempts: [failed(1), failed(2), failed(3)], held: held(now * 2) }, [generated]],
    ['its last sixth is too late', { attempts: [failed(1), failed(2), failed(3)], held: held(now * 1.1) }, []],
    [
      'a given file serves its hosts',
      { given: [{ hosts: ['eu.example.com'], notAfterMs: now + 1 }] },
      ['eu.example.com', generated],
    ],
    [
      'a given wildcard serves hosts',
      { given: [{ hosts: ['*.example.org'], notAfterMs: now + 1 }] },
      [generated, 'www.example.org'],
    ],
    [
      'a given wildcard serves no wildcard',
      { given: [{ hosts: ['*.example.com'], notAfterMs: now + 1 }] },
      ['eu.example.com', generated],
    ],
    ['an expired file serves nothing', { given: [{ hosts: ['eu.example.com'], notAfterMs: now }] }, [generated]],
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
