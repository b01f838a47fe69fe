import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Role } from '@underpass/rules/entity.ts';
import { namesakeNotes } from './namesakes.ts';

const project = (id: string, name: string, role: Role) => ({ id, name, role });

test('a name of its own needs no note', () => {
  assert.deepEqual([...namesakeNotes([project('a', 'default', 'owner'), project('b', 'Shop', 'owner')])], []);
});

test('projects of one name are told apart by the role there', () => {
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

test('where the role is the same too, the id tells', () => {
  const notes = namesakeNotes([
    project('a', 'default', 'owner'),
    project('b', 'default', 'member'),
    project('c', 'default', 'member'),
  ]);
  assert.deepEqual([...notes.values()], ['Owner', 'Member · b', 'Member · c']);
});
