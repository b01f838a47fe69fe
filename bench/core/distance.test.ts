import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  columnsOf,
  type DistanceOptions,
  type DistanceTexts,
  figuresOf,
  goalOf,
  parseDistance,
  renderGrid,
  shortfallsOf,
  transfers,
  trialsOf,
} from './distance.ts';
import type { Sample } from './table.ts';

const texts: DistanceTexts = {
  'round-trips': '50,100',
  losses: '0,0.1,1',
  cases: 'page,bulk',
  carries: 'https,tcp',
  silence: '60',
};
const clear = { roundTripMs: 50, lossPercent: 0 };
const lossy = { roundTripMs: 50, lossPercent: 1 };
const options: DistanceOptions = { ...parseDistance(texts, []), roundTripsMs: [50], lossPercents: [0], cases: ['bulk'] };

test('the congestion controls of a run are those that the system allows, unless the user names some', () => {
  assert.deepEqual(parseDistance(texts, ['reno', 'bbr', 'vegas']).congestion, ['reno', 'bbr']);
  assert.deepEqual(parseDistance({ ...texts, congestion: 'vegas' }, ['reno']).congestion, ['vegas']);
});

test('three rounds are the default', () => assert.equal(parseDistance(texts, []).rounds, 3));

test('a list counts a value once', () => assert.deepEqual(parseDistance({ ...texts, losses: '1,0,1' }, []).lossPercents, [1, 0]));

for (const [name, wrong, message] of [
  ['an unknown case', { cases: 'page,pages' }, "--cases: 'pages' is not one of page, bulk, api, spell, silence, visitors"],
  ['an empty list', { cases: '' }, "--cases: '' is not one of page, bulk, api, spell, silence, visitors"],
  ['a loss that is no number', { losses: '0,x' }, "--losses: 'x' is not a number from 0 to 50"],
  ['a missing loss', { losses: '0,' }, "--losses: '' is not a number from 0 to 50"],
  ['a loss above its limit', { losses: '51' }, "--losses: '51' is not a number from 0 to 50"],
  ['a round trip below 0', { 'round-trips': '-1' }, "--round-trips: '-1' is not a number from 0 to 2000"],
  ['no round', { rounds: '0' }, "--rounds: '0' is not a number from 1 to 100"],
  ['half a round', { rounds: '1.5' }, "--rounds: '1.5' is not a whole number"],
  ['a silence without end', { silence: 'Infinity' }, "--silence: 'Infinity' is not a number from 0 to 600"],
  ['raw bytes carried', { carries: 'udp' }, "--carries: 'udp' is not one of https, tcp"],
] as const) {
  test(`the options refuse ${name}`, () => {
    assert.throws(() => parseDistance({ ...texts, ...wrong }, []), new Error(message));
  });
}

test('a lossy spell and silence run only on a path without loss', () => {
  const all = { cases: ['page', 'spell', 'silence'], carries: ['https'] } as const;
  assert.deepEqual([...new Set(trialsOf(all, lossy).map((trial) => trial.case))], ['page']);
  assert.deepEqual([...new Set(trialsOf(all, clear).map((trial) => trial.case))], ['page', 'spell', 'silence']);
});

test('far visitors meet only peers that end TLS at the edge', () => {
  assert.deepEqual(trialsOf({ cases: ['visitors'], carries: ['tcp'] }, clear), []);
});

test('no two figures of a path have one name', () => {
  const everything = { ...options, cases: ['page', 'bulk', 'api', 'spell', 'silence', 'visitors'] as const };
  for (const carries of ['https', 'tcp'] as const) {
    const names = columnsOf(everything, carries).map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
  }
});

test('every transfer is a figure of its own', () => {
  const trials = trialsOf({ cases: ['bulk'], carries: ['tcp'] }, clear);
  assert.deepEqual(
    trials.flatMap(figuresOf).map(({ name }) => name),
    Object.values(transfers).map(({ name }) => name),
  );
});

test('a goal is higher where loss slows down everybody else', () => {
  assert.equal(goalOf(lossy, 'cubic'), 3);
  assert.equal(goalOf(lossy, 'bbr'), 1);
  assert.equal(goalOf(clear, 'reno'), 1);
});

const samples: Sample[] = [
  { peer: 'haproxy', column: '50 ms, 0 %: 20 MB', value: 10 },
  { peer: 'underpass', column: '50 ms, 0 %: 20 MB', value: 8 },
  { peer: 'haproxy', column: '50 ms, 0 %: page', value: 300 },
  { peer: 'underpass', column: '50 ms, 0 %: page', value: 150 },
];

test('a factor above 1 is better than the baseline in every unit', () => {
  const columns = [
    { name: '50 ms, 0 %: 20 MB', unit: 'MB/s', better: 'more' },
    { name: '50 ms, 0 %: page', unit: 'ms', better: 'less' },
  ] as const;
  const [, , transfer, page] = renderGrid(samples, columns, ['underpass', 'haproxy', 'frp'], 'haproxy').split('\n');
  assert.equal(transfer, '| 50 ms, 0 %: 20 MB, MB/s | 8 (0.8) | 10 |  |');
  assert.equal(page, '| 50 ms, 0 %: page, ms | 150 (2) | 300 |  |');
});

test('a figure behind its goal is listed, and one without a baseline is not', () => {
  const about = { carries: 'https', congestion: 'reno', peer: 'underpass', baseline: 'haproxy' } as const;
  assert.deepEqual(shortfallsOf(samples, options, about), ['50 ms, 0 %: 20 MB: 0.80 of 1']);
  const alone = samples.filter(({ peer }) => peer === 'underpass');
  assert.deepEqual(shortfallsOf(alone, options, about), []);
});
