// Which token files other users may read, case by case.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type FileFacts, isOpenToOthers, isReadOnlyMount, type Reader } from './token-file-mode.ts';

const mounts = [
  '22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
  '40 22 0:50 / /etc/underpass ro,relatime - tmpfs tmpfs rw,size=1024k',
  '41 22 0:51 / /etc/with\\040space ro - tmpfs tmpfs rw',
  '42 22 0:52 / /srv/secret ro - tmpfs tmpfs rw',
  '43 22 8:2 / /srv/secret rw - ext4 /dev/sdb rw',
  '',
].join('\n');
const pod: Reader = { uid: 1000, gids: [1000], mounts };
const secret: FileFacts = { path: '/etc/underpass/..data/token', mode: 0o100440, uid: 0, gid: 1000 };

const cases: readonly (readonly [string, FileFacts, Reader, boolean])[] = [
  ['a Secret with fsGroup, 0440', secret, pod, false],
  ['the same, 0640: root may write', { ...secret, mode: 0o100640 }, pod, false],
  ['the same, readable to all', { ...secret, mode: 0o100444 }, pod, true],
  ['the same, writable to the group', { ...secret, mode: 0o100660 }, pod, true],
  ['the same, of a group that this process is not in', { ...secret, gid: 1001 }, pod, true],
  ['the same, of another group of this process', { ...secret, gid: 1001 }, { ...pod, gids: [1000, 1001] }, false],
  ['root:users 0640 on an ordinary disk: a group of people', { ...secret, path: '/home/ann/token' }, pod, true],
  ["a person's file in a read-only mount", { ...secret, uid: 1001 }, pod, true],
  ['read by root, which needs no group', secret, { ...pod, uid: 0, gids: [0, 1000] }, true],
  ["this user's file, 0600", { path: '/home/ann/token', mode: 0o100600, uid: 1000, gid: 1000 }, pod, false],
  ["this user's file, 0644", { path: '/home/ann/token', mode: 0o100644, uid: 1000, gid: 1000 }, pod, true],
  ["this user's file, 0640", { path: '/home/ann/token', mode: 0o100640, uid: 1000, gid: 1000 }, pod, true],
  ['a credential of systemd', { path: '/run/credentials/underpass.service/token', mode: 0o100440, uid: 0, gid: 0 }, pod, false],
  ['a secret of a container engine, for all', { path: '/run/secrets/token', mode: 0o100444, uid: 0, gid: 0 }, pod, true],
  ['no mounts are known (macOS)', secret, { ...pod, mounts: '' }, true],
];
describe('a token file', () => {
  for (const [what, file, reader, expected] of cases) {
    test(`${what}: ${expected ? 'warns' : 'does not warn'}`, () => assert.equal(isOpenToOthers(file, reader), expected));
  }
});

describe('a read-only mount', () => {
  const paths: readonly (readonly [string, boolean, string])[] = [
    ['/etc/underpass/token', true, 'inside'],
    ['/etc/underpass-other/token', false, 'a name that only begins the same'],
    ['/etc/with space/token', true, 'escaped in the table'],
    ['/srv/secret/token', false, 'the later mount hides the earlier'],
    ['/etc/passwd', false, 'the root is writable'],
  ];
  for (const [path, expected, why] of paths) {
    test(`${path}: ${why}`, () => assert.equal(isReadOnlyMount(path, mounts), expected));
  }
});
