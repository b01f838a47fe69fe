import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseReturnPath } from './return-path.ts';

const kept: readonly (readonly [text: string, path: string])[] = [
  ['/projects/01m83/tunnels/web', '/projects/01m83/tunnels/web'],
  ['/projects/01m83/security-groups/a%2Fb%20c', '/projects/01m83/security-groups/a%2Fb%20c'],
  ['/projects/01m83/tunnels?new=1#x', '/projects/01m83/tunnels'],
  ['/account', '/account'],
];

const refused: readonly (readonly [text: string, why: string])[] = [
  ['', 'nothing'],
  ['/', 'home needs no path'],
  ['https://evil.example/projects/1', 'another site'],
  ['//evil.example/projects', 'another host'],
  ['//projects/x', 'a host that is named like a page'],
  ['/\\evil.example', 'a backslash that browsers read as a slash'],
  ['/projects\\..\\activate', 'backslashes'],
  ['/projects/../activate', 'dots'],
  ['/projects/%2e%2E/activate', 'escaped dots'],
  ['/projects/./x', 'a dot'],
  ['\t/projects/x', 'a tab, which URL parsers drop'],
  ['/projects/\nx', 'a line break, which would end a line of the mail'],
  ['/projects/x y', 'a space, which would end the link in the mail'],
  ['/activate', 'approves a terminal'],
  ['/invitations/abc', 'accepts an invitation'],
  ['/confirm/abc', 'redeems a link'],
  ['/magiclink/abc', 'redeems a link'],
  ['/login', 'is for people without a session'],
  [`/projects/${'x'.repeat(300)}`, 'too long'],
  ['javascript:alert(1)', 'a script'],
];

test('keeps pages that only show, without their query', () => {
  for (const [text, path] of kept) assert.equal(parseReturnPath(text), path);
});

test('refuses everything else', () => {
  for (const [text, why] of refused) assert.equal(parseReturnPath(text), undefined, why);
});
