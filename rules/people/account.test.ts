// Deleting an account: the confirmation, and each reason to refuse.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Belonging, confirms, decideDeparture } from './account.ts';

describe('confirms', () => {
  const cases: readonly [string, string, boolean][] = [
    ['ann@example.com', 'ann@example.com', true],
    [' Ann@Example.com ', 'ann@example.com', true],
    ['ann@example.co', 'ann@example.com', false],
    ['', 'ann@example.com', false],
    ['Shop', 'shop', true],
    ['shop 2', 'shop', false],
  ];
  for (const [typed, expected, answer] of cases) {
    it(`${JSON.stringify(typed)} ${answer ? 'is' : 'is not'} ${expected}`, () => assert.equal(confirms(typed, expected), answer));
  }
});

describe('decideDeparture', () => {
  const alone: Belonging = { name: 'mine', isOwner: true, ownerCount: 1, memberCount: 1, suspended: false };
  const cases: readonly [string, Belonging[], RegExp | null][] = [
    ['nobody else is in the project', [alone], null],
    ['another owner stays', [{ ...alone, ownerCount: 2, memberCount: 2 }], null],
    ['somebody else owns it', [{ ...alone, isOwner: false, memberCount: 3 }], null],
    [
      'the only owner of others',
      [alone, { ...alone, name: 'ours', memberCount: 2 }],
      /^'ours': its other members would be left without an owner/,
    ],
    ['alone in a suspended project', [{ ...alone, suspended: true }], /^'mine' is suspended/],
    ['a suspended project that others own', [{ ...alone, isOwner: false, memberCount: 2, suspended: true }], null],
  ];
  for (const [name, projects, text] of cases) {
    it(name, () => {
      const decision = decideDeparture(projects, false);
      if (text === null) assert.ok(decision.ok);
      else assert.match(decision.ok ? '' : decision.message, text);
    });
  }

  it('lets the operator delete a suspended account, unless a project would lose its only owner', () => {
    assert.ok(decideDeparture([{ ...alone, suspended: true }], true).ok);
    assert.ok(!decideDeparture([{ ...alone, memberCount: 2 }], true).ok);
  });
});
