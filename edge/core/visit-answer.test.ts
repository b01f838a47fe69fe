import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foreignOrigin } from './visit-answer.ts';

const site = 'app.tunnels.test:8443';
const own = `https://${site}`;
const sibling = 'https://evil.tunnels.test:8443';

/** What a browser says, and the origin that counts; null: the tunnel's own page, or no page. */
const rows: readonly (readonly [origin: string | null, fetchSite: string | null, expected: string | null, why: string])[] = [
  [null, null, null, 'a program, not a browser'],
  [own, 'same-origin', null, 'the page itself'],
  [own, null, null, 'an old browser'],
  [null, 'same-origin', null, 'a form of the page itself'],
  [null, 'none', null, 'a bookmark, or a reload'],
  ['null', 'same-origin', null, 'the page itself, with a Referrer-Policy of no-referrer'],
  [sibling, 'same-site', sibling, 'a page of another tunnel'],
  [sibling, null, sibling, 'the same in an old browser'],
  ['https://app.tunnels.test', 'same-site', 'https://app.tunnels.test', 'another port'],
  [`http://${site}`, 'same-site', `http://${site}`, 'a page without TLS'],
  [sibling, 'same-origin', sibling, 'two fields that disagree'],
  [null, 'same-site', 'null', 'a form in an old browser'],
  [null, 'cross-site', 'null', ''],
  ['null', 'cross-site', 'null', 'a sandboxed frame'],
  ['null', null, 'null', 'the same in an old browser'],
  ['', 'same-origin', '', 'Origin twice'],
  [null, '', 'null', 'Sec-Fetch-Site twice'],
  [own.toUpperCase(), null, own.toUpperCase(), 'no browser writes it so'],
];

for (const [origin, fetchSite, expected, why] of rows)
  test(`Origin ${origin} with Sec-Fetch-Site ${fetchSite} counts as ${expected ?? 'own'}: ${why}`, () =>
    assert.equal(foreignOrigin(origin, fetchSite, site), expected));
