import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Role } from '@underpass/rules/entity/entity.ts';
import { namesakeNotes } from './namesakes.ts';

const project = (id: string, name: string, role: Role) => ({ id, name, role });

test('a unique name needs no note', () => {
  assert.deepEqual([...namesakeNotes([project('a', 'default', 'owner'), project('b', 'Shop', 'owner')])], []);
});

test('the role distinguishes projects with the same name', () => {
  const notes = namesakeNotes([
    project('a', 'default', 'owner'),
    project('b', 'default', 'member'),
    project('c', 'Shop', 'owner'),
  ]);
  assert.deepEqual(
    [...notes],
    [
      ['a', 'Owner'],
      ['b', 'Member'],
    ],
  );
});

test('if the roles are the same too, the end of the id distinguishes them', () => {
  const notes = namesakeNotes([
    project('a', 'default', 'owner'),
    project('01m809f83t05kbpcta2e9c40zn', 'default', 'member'),
    project('01m809f83t05kbpcta2e9c40zz', 'default', 'member'),
  ]);
  assert.deepEqual([...notes.values()], ['Owner', 'Member · …9c40zn', 'Member · …9c40zz']);
});
