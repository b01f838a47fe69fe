import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CarryError } from './problem.ts';
import { parseRegionUrl } from './region-url.ts';

const pin = 'ab'.repeat(32);

describe('the URL of a tunnel', () => {
  for (const [text, expected] of [
    ['https://eu1.example', { host: 'eu1.example', port: 443, authority: 'eu1.example', pin: null }],
    ['https://eu1.example/', { host: 'eu1.example', port: 443, authority: 'eu1.example', pin: null }],
    [`https://local.localhost:8443#ca=${pin}`, { host: 'local.localhost', port: 8443, authority: 'local.localhost:8443', pin }],
    ['https://[2001:db8::1]:8443', { host: '2001:db8::1', port: 8443, authority: '[2001:db8::1]:8443', pin: null }],
  ] as const) {
    it(`accepts ${text}`, () => assert.deepEqual(parseRegionUrl(text), expected));
  }

  for (const text of [
    'http://eu1.example',
    'eu1.example',
    'https://eu1.example/path',
    'https://eu1.example?x',
    'https://user@eu1.example',
    'https://eu1.example#ca=abcd',
    `https://eu1.example#ca=${pin.toUpperCase()}`,
    `https://eu1.example#pin=${pin}`,
    '',
  ]) {
    it(`refuses '${text}'`, () => {
      assert.throws(
        () => parseRegionUrl(text),
        (error) => error instanceof CarryError && error.problem.code === 'url-invalid',
      );
    });
  }
});
