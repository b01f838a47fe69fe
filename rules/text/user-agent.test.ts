// The names of browsers on the account page and in mails.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeUserAgent } from './user-agent.ts';

const webkit = 'AppleWebKit/537.36 (KHTML, like Gecko)';

const cases: readonly (readonly [userAgent: string, description: string, reason?: string])[] = [
  [`Mozilla/5.0 (X11; Linux x86_64) ${webkit} Chrome/140.0.0.0 Safari/537.36`, 'Chrome on Linux'],
  [
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0`,
    'Edge on Windows',
    'Edge says Chrome too',
  ],
  ['Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox on Linux'],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Safari/605.1.15',
    'Safari on macOS',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1',
    'Safari on iOS',
    'an iPhone says Mac OS X too',
  ],
  [
    `Mozilla/5.0 (Linux; Android 16; Pixel) ${webkit} Chrome/140.0.0.0 Mobile Safari/537.36`,
    'Chrome on Android',
    'Android says Linux too',
  ],
  ['underpass/0.1.0 (linux-x64)', 'underpass/0.1.0 (linux-x64)'],
  ['', 'Unknown device'],
  ['x'.repeat(500), 'x'.repeat(60), 'a made-up one does not fill the screen'],
];

for (const [userAgent, description, reason] of cases) {
  test(`a session of '${userAgent.slice(0, 40)}' is called '${description.slice(0, 40)}'${reason ? `: ${reason}` : ''}`, () => {
    assert.equal(describeUserAgent(userAgent), description);
  });
}
