import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { eachCase } from '../test-kit.ts';
import { formatDate } from '../text/date.ts';
import { projectUrl } from '../text/project-url.ts';
import { capitaliseFirst, text } from '../text/text.ts';
import { maskToken } from '../tunnel/token-mask.ts';
import { rewriteProjectPath, selectedProjectKey, selectProject } from './project-path.ts';
import { tips } from './tips.ts';

test('changing the project keeps at most three segments of the page', (t) => {
  const rows: [string, string, string][] = [
    ['/projects/a/dashboard', 'b', '/projects/b/dashboard'],
    ['/projects/a/tunnels/web', 'b', '/projects/b/tunnels'],
    ['/projects/a/tunnels/web/domains/example.com', 'b', '/projects/b/tunnels'],
    ['/projects/a/security-groups/', 'b', '/projects/b/security-groups'],
    ['/projects/a', 'b', '/projects/b'],
    ['/projects/a/tunnels?x=1#y', 'b', '/projects/b/tunnels'],
    ['/projects/a/tunnels', '../x?y', '/projects/..%2Fx%3Fy/tunnels'],
    ['/download', 'b', '/download'],
    ['/', 'b', '/'],
    ['/projects', 'b', '/projects'],
    ['/projectsx/a/b', 'b', '/projectsx/a/b'],
  ];
  eachCase(t, rows, ([path, id, result]) => assert.equal(rewriteProjectPath(path, id), result));
});

test('changing the project and back returns to the same page', () => {
  const id = fc.uuid();
  fc.assert(
    fc.property(id, id, fc.constantFrom('dashboard', 'tunnels', 'domains', 'security-groups'), (a, b, page) => {
      const path = `/projects/${a}/${page}`;
      assert.equal(rewriteProjectPath(rewriteProjectPath(path, b), a), path);
    }),
  );
});

test('the remembered project, else the default, else the first', () => {
  const projects = [{ id: 'a' }, { id: 'b' }, { id: 'c' }];
  assert.equal(selectedProjectKey, 'selected-project');
  assert.equal(selectProject(projects, 'c', 'b')?.id, 'c');
  assert.equal(selectProject(projects, null, 'b')?.id, 'b');
  assert.equal(selectProject(projects, 'gone', 'b')?.id, 'b');
  assert.equal(selectProject(projects, 'gone', 'gone too')?.id, 'a');
  assert.equal(selectProject([], 'a', 'a'), undefined);
});

test('the first eight characters of a token are asterisks', (t) => {
  const rows: [string, string][] = [
    ['abcdefghijkl', '********ijkl'],
    ['abcdefgh', '********'],
    ['abc', '***'],
    ['', ''],
  ];
  eachCase(t, rows, ([token, masked]) => assert.equal(maskToken(token), masked));
});

test('a mask keeps the length and shows nothing of the start', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[A-Za-z0-9_-]{0,43}$/), (token) => {
      const masked = maskToken(token);
      assert.equal(masked.length, token.length);
      assert.match(masked.slice(0, 8), /^\**$/);
      assert.equal(masked.slice(8), token.slice(8));
    }),
  );
});

test('dates are written in en-US with month name, time and seconds', (t) => {
  const rows: [string, string, RegExp][] = [
    ['2026-11-20T23:04:05Z', 'UTC', /^November 20, 2026 at 11:04:05\sPM$/],
    ['2026-11-20T23:04:05.678Z', 'Europe/London', /^November 20, 2026 at 11:04:05\sPM$/],
    ['2026-11-20T23:04:05Z', 'Asia/Tokyo', /^November 21, 2026 at 8:04:05\sAM$/],
    ['2026-07-01T00:00:00Z', 'America/New_York', /^June 30, 2026 at 8:00:00\sPM$/],
    ['nonsense', 'UTC', /^n\/a$/],
    ['', 'UTC', /^n\/a$/],
  ];
  eachCase(t, rows, ([iso, zone, shown]) => assert.match(formatDate(iso, zone), shown));
});

test('there are six tips, each with an https link', () => {
  assert.equal(tips.length, 6);
  for (const tip of tips) assert.equal(new URL(tip.url).protocol, 'https:');
});

test('SSH over DNS leads to the page about SSH hosts by name', () => {
  const [, page = ''] = tips.find(({ title }) => title === 'SSH over DNS')?.url.split(`${projectUrl}/blob/main/`) ?? [];
  assert.match(readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8'), /underpass ssh connect/);
});

test('an answer is shown with its first letter capitalised', (t) => {
  const rows = [
    ['domain is in use', 'Domain is in use'],
    ['Domain', 'Domain'],
    ['', ''],
    ['élan', 'Élan'],
    ['𐐨bc', '𐐀bc'],
    ['1 tunnel', '1 tunnel'],
  ];
  eachCase(t, rows, ([sentence, shown]) => assert.equal(capitaliseFirst(sentence!), shown));
});

test('texts that hold a name hold it as given', () => {
  assert.equal(text.home.welcome('Ada'), 'Welcome Ada');
  assert.equal(text.home.welcome(''), 'Dashboard');
  assert.equal(text.home.project('Home lab'), 'Project: Home lab');
  assert.equal(text.login.sent('ada@example.com'), 'We have sent an email with a login link to ada@example.com');
  assert.equal(text.groups.assigned(3), 'Assigned to 3 Tunnels');
  assert.equal(
    text.register.done,
    'You will receive an email with login details once you have been approved for the Underpass cloud preview.',
  );
});
