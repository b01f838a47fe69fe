import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseReturnPath, parseVisitorPath } from './return-path.ts';

const kept: readonly (readonly [text: string, path: string])[] = [
  ['/projects/01m83/tunnels/web', '/projects/01m83/tunnels/web'],
  ['/projects/01m83/security-groups/a%2Fb%20c', '/projects/01m83/security-groups/a%2Fb%20c'],
  ['/projects/01m83/tunnels?new=1#x', '/projects/01m83/tunnels'],
  ['/account', '/account'],
  [`/access/member/app.example.com/${'s'.repeat(43)}`, `/access/member/app.example.com/${'s'.repeat(43)}`],
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
  [`/projects/${'x'.repeat(320)}`, 'too long'],
  ['javascript:alert(1)', 'a script'],
  ['/access/oidc/start', 'begins a sign-in elsewhere'],
  [`/access/member/grant/${'s'.repeat(43)}`, 'lets a program act for the person who opens it'],
  [`/access/member/a/../${'s'.repeat(43)}`, 'dots'],
  [`/access/member/evil.example/x/${'s'.repeat(43)}`, 'one part too many'],
  [`/access/member/a@evil.example/${'s'.repeat(43)}`, 'a host with a user name'],
];

test('keeps pages that only show, without their query', () => {
  for (const [text, path] of kept) assert.equal(parseReturnPath(text), path);
});

test('refuses everything else', () => {
  for (const [text, why] of refused) assert.equal(parseReturnPath(text), undefined, why);
});

test('leads back to the sign-in of a visitor, and of a program in the same browser', () => {
  const state = 's'.repeat(43);
  for (const path of [`/access/member/app.example.com/${state}`, `/access/member/grant/${state}`])
    assert.equal(parseVisitorPath(path), path);
  for (const path of [
    '',
    '/projects/1',
    `//access/member/grant/${state}`,
    `/access/member/grant/${state}?x`,
    `/access/link/${state}`,
  ])
    assert.equal(parseVisitorPath(path), undefined, path);
});
