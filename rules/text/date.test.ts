// Times as calls and files give them, whatever the server's own zone.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachCase } from '../test-kit.ts';
import { parseTime } from './date.ts';

const { TZ } = process.env;
before(() => {
  process.env.TZ = 'America/New_York';
});
after(() => {
  if (TZ === undefined) delete process.env.TZ;
  else process.env.TZ = TZ;
});

test('an ISO 8601 time is read in its zone, and in UTC if it names none', (t) => {
  const rows: [string, string | null, string?][] = [
    ['2026-11-20', '2026-11-20T00:00:00.000Z'],
    ['2026-11-20T10:00', '2026-11-20T10:00:00.000Z'],
    ['2026-11-20 10:00:30', '2026-11-20T10:00:30.000Z', 'as databases print it'],
    ['2026-11-20T10:00:30.25z', '2026-11-20T10:00:30.250Z'],
    ['2026-11-20T10:00:00+02:00', '2026-11-20T08:00:00.000Z'],
    ['2026-11-20 10:00:30.25+00', '2026-11-20T10:00:30.250Z', 'as Postgres prints one with a zone'],
    ['2026-11-20T10:00:00-0530', '2026-11-20T15:30:00.000Z', 'as strftime prints %z'],
    [' 2026-11-20T10:00:00Z ', '2026-11-20T10:00:00.000Z'],
    ['2026-13-01', null],
    ['2026-02-30', null],
    ['2028-02-29', '2028-02-29T00:00:00.000Z'],
    ['2026-11-20T25:00:00Z', null],
    ['1', null, 'Date.parse: 2001'],
    ['Dec 5', null, 'Date.parse: 2001'],
    ['12/31/2026', null, 'which is the month?'],
    ['2026-11-20T10:00:00+02:', null],
    ['2026-11', null],
    ['tomorrow', null],
    ['', null],
  ];
  eachCase(t, rows, ([text, iso]) => {
    const ms = parseTime(text);
    assert.equal(ms === null ? null : new Date(ms).toISOString(), iso);
  });
});
