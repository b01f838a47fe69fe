// CSV both ways.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseCsv, renderCsvRow } from './csv.ts';

describe('a rendered row', () => {
  for (const start of ['=', '+', '-', '@', '\t', '\r']) {
    it(`shows ${JSON.stringify(start)} as text`, () => assert.match(renderCsvRow([`${start}1+1`]), /^"?'/));
  }

  it('quotes cells with commas, quotes or line breaks', () => {
    assert.equal(renderCsvRow(['a', 'b,c', 'd"e', 'f\ng', '']), 'a,"b,c","d""e","f\ng",\r\n');
  });
});

describe('a parsed row', () => {
  it('gives back the cells that were rendered', () => {
    // One line, no blanks at the ends, no formula: the form of imports.
    const cell = fc.stringMatching(/^[A-Za-z0-9"][A-Za-z0-9", ;@.]{0,20}[A-Za-z0-9"]$/);
    fc.assert(
      fc.property(fc.array(cell, { minLength: 1, maxLength: 5 }), (cells) => {
        assert.deepEqual(parseCsv(renderCsvRow(cells)), [cells]);
      }),
    );
  });

  for (const [line, cells] of [
    ['a,b', ['a', 'b']],
    [',a,', ['', 'a', '']],
    [' a , "b" ', ['a', 'b']],
    ['"a""b"', ['a"b']],
    ['"open', undefined],
    ['a"b', undefined],
    ['"a"b', undefined],
    ['x'.repeat(1001), undefined],
  ] as const) {
    it(`${line.slice(0, 12)} is ${JSON.stringify(cells)}`, () => assert.deepEqual(parseCsv(line), [cells]));
  }

  it('parses 50,000 lines in time linear in their number', () => {
    const started = performance.now();
    assert.equal(parseCsv('person@example.com,2030-01-01\n'.repeat(50_000)).length, 50_000);
    assert.ok(performance.now() - started < 15_000, 'some 50 ms; their square takes minutes');
  });
});
