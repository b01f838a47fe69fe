import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { renderLiveStatus, type TunnelView } from './live-status.ts';

const view: TunnelView = {
  name: 'eu1.example.com',
  tunnel: 'shop',
  state: 'connected',
  edges: [
    { name: 'eu1-a', rttMs: 11.6 },
    { name: 'eu1-b', rttMs: null },
  ],
  urls: ['https://shop.example.com'],
  upstreams: ['shop.example.com → http://127.0.0.1:8080'],
  streams: 3,
  totalStreams: 1234,
  rxBytes: 1_500_000,
  txBytes: 0,
  rxRate: 1250,
  txRate: 0,
  problem: null,
};

const request = { startedAtMs: 0, method: 'GET', host: 'shop.example.com', durationMs: 12.4, status: 200, error: null } as const;

test('a connected tunnel shows edges, upstreams, visits and both directions', () => {
  assert.deepEqual(renderLiveStatus([view], { columns: 120, rows: 24, color: false }), [
    'shop  connected to 2 edges (eu1-a 12 ms, eu1-b)',
    '  https://shop.example.com',
    '  shop.example.com → http://127.0.0.1:8080',
    '  visits 1234  open 3  rx 1.25 kB/s  tx 0 B/s  (1.50 MB in, 0 B out)',
    '',
    'Ctrl-C drains and stops; twice stops at once.',
  ]);
});

test('a narrow terminal wraps addresses and leaves out the names of edges', () => {
  const url = 'https://deft-butter.tunnels.example.com:8443';
  const lines = renderLiveStatus([{ ...view, urls: [url] }], { columns: 40, rows: 24, color: false });
  assert.deepEqual(lines, [
    'shop  connected to 2 edges',
    '  https://deft-butter.tunnels.example.c',
    '  om:8443',
    '  shop.example.com →',
    '  http://127.0.0.1:8080',
    '  visits 1234  open 3  rx 1.25 kB/s  tx',
    '  0 B/s  (1.50 MB in, 0 B out)',
    '',
    'Ctrl-C drains and stops; twice stops at',
    'once.',
  ]);
});

test('a very narrow terminal still shows the whole word of the state', () => {
  const [head] = renderLiveStatus([view], { columns: 20, rows: 24, color: false });
  assert.equal(head, 'shop  connected');
});

test('a problem has its own line, and there are no colours unless allowed', () => {
  const lines = renderLiveStatus([{ ...view, state: 'connecting', problem: 'token refused: rotate it' }], {
    columns: 80,
    rows: 24,
    color: true,
  });
  assert.match(lines.join('\n'), /\x1b\[31m {2}token refused: rotate it\x1b\[0m/);
  assert.doesNotMatch(renderLiveStatus([view], { columns: 80, rows: 24, color: false }).join(''), /\x1b/);
});

test('a problem is wrapped, so that the fix at its end stays visible', () => {
  const fix = 'Give its CA with --upstream-ca FILE, or accept any certificate with --upstream-insecure.';
  const problem = `TLS to the upstream fails: https://10.0.0.7:8443 (DEPTH_ZERO_SELF_SIGNED_CERT). ${fix}`;
  for (const columns of [40, 60, 80]) {
    const lines = renderLiveStatus([{ ...view, state: 'connecting', problem }], { columns, rows: 24, color: false });
    const from = lines.findIndex((line) => line.startsWith('  TLS to'));
    const told = lines.slice(from, lines.indexOf('', from));
    assert.ok(told.length > 1);
    assert.ok(told.every((line) => line.length < columns));
    assert.equal(told.map((line) => line.slice(2)).join(' '), problem);
  }
});

test('a very long problem takes at most eight lines', () => {
  const lines = renderLiveStatus([{ ...view, problem: 'x'.repeat(5_000) }], { columns: 40, rows: 50, color: false });
  assert.equal(lines.filter((line) => /^ {2}x{37}$/.test(line)).length, 8);
});

test('a note is wrapped at the bottom, and stays if the other lines do not fit', () => {
  const note = 'not reloaded, the tunnels are unchanged: underpass.yaml:3: no tunnel';
  for (const rows of [24, 5]) {
    const lines = renderLiveStatus([view], { columns: 40, rows, color: false, note });
    assert.equal(lines.slice(-2).join(' '), note);
    assert.ok(lines.length < rows);
  }
});

test('the hint says what Ctrl-C does now', () => {
  const last = (...states: readonly TunnelView['state'][]) =>
    renderLiveStatus(
      states.map((state) => ({ ...view, state })),
      { columns: 80, rows: 24, color: false },
    ).at(-1);
  assert.equal(last('connecting'), 'Ctrl-C drains and stops; twice stops at once.');
  assert.equal(last('connected', 'stopped'), 'Ctrl-C drains and stops; twice stops at once.');
  assert.equal(last('draining', 'stopped'), 'Ctrl-C stops at once.');
  assert.equal(last('stopped', 'stopped'), '');
});

test('the status is never wider or higher than the terminal', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 200 });
  const views = fc.array(fc.record({ name: text, upstreams: fc.array(text), problem: fc.option(text) }), { maxLength: 8 });
  fc.assert(
    fc.property(
      views,
      fc.integer({ min: 1, max: 200 }),
      fc.integer({ min: 2, max: 50 }),
      fc.boolean(),
      fc.option(text, { nil: undefined }),
      (parts, columns, rows, color, note) => {
        const lines = renderLiveStatus(
          parts.map((part) => ({ ...view, ...part })),
          { columns, rows, color, note, requests: parts.map(({ name }) => ({ ...request, target: name })) },
        );
        assert.ok(lines.length < rows || lines.length === 1);
        for (const line of lines) {
          assert.ok([...stripVTControlCharacters(line)].length < Math.max(columns, 2));
          assert.doesNotMatch(line.replace(/\x1b\[\d+m/g, ''), /[\u0000-\u001f\u007f-\u009f]/);
        }
      },
    ),
  );
});

test('the last requests stand below the tunnel, without their queries, as many as fit', () => {
  const requests = Array.from({ length: 20 }, (_, index) => ({
    ...request,
    target: `/p${index}?token=secret`,
    status: 200 + index,
  }));
  const all = renderLiveStatus([view], { columns: 120, rows: 40, color: false, requests });
  assert.deepEqual([all.length, all[5], all[14]?.slice(12), all[15]], [17, all[5], '219     12 ms  GET /p19', '']);
  assert.doesNotMatch(all.join(''), /secret|p9\b/);
  const few = renderLiveStatus([view], { columns: 120, rows: 10, color: false, requests });
  assert.deepEqual([few.length, few[5]?.slice(12), few.at(-1)], [9, '218     12 ms  GET /p18', all.at(-1)]);
  assert.ok(!renderLiveStatus([view], { columns: 120, rows: 8, color: false, requests }).join('').includes('/p'));
  const open = { ...request, target: '/socket', status: null, durationMs: null, error: { code: 'upstream-refused' } };
  const [line] = renderLiveStatus([view, view], { columns: 120, rows: 40, color: false, requests: [open] }).slice(-3);
  assert.equal(line?.slice(12), '         open  GET shop.example.com/socket  upstream-refused');
});
