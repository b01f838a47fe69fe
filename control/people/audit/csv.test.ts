// CSV both ways.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { csvLines, parseCsvLine, renderCsvRow } from './csv.ts';

const parseCsv = (text: string) => csvLines(text).map(parseCsvLine);

describe('a rendered row', () => {
  for (const start of ['=', '+', '-', '@', '\t', '\r']) {
    it(`shows ${JSON.stringify(start)} as text`, () => assert.match(renderCsvRow([`${start}1+1`]), /^"?'/));
  }

  for (const [text, shown, why] of [
    ['＝1+1', "'＝1+1", 'a full-width equals sign'],
    ['＋1', "'＋1", 'a full-width plus'],
    ['－1', "'－1", 'a full-width minus'],
    ['＠SUM(1)', "'＠SUM(1)", 'a full-width at sign'],
    ['a;=1+1', "a;'=1+1", 'spreadsheets where the comma is the decimal sign split at ;'],
    ['a;b;@x;-1', "a;b;'@x;'-1", 'each cell behind ; counts'],
    ['a; =1', "a;' =1", 'a blank before the formula'],
    ['a;＝1', "a;'＝1", 'both at once'],
    [' =1+1', "' =1+1", 'spreadsheets that trim'],
    ['a\t=1', "a\t'=1", 'a tab separates cells too'],
    ['a\n=1', `"a\n'=1"`, 'quotes that begin inside a cell hold no line together'],
    ['a;"=1"', `"a;'""=1"""`, 'quotes before the formula'],
    ['"=1"', `"'""=1"""`, 'a quoted formula'],
    ['Mozilla/5.0 (X11; Linux)', 'Mozilla/5.0 (X11; Linux)', 'no formula'],
    ['a-b=c@d', 'a-b=c@d', 'signs inside a cell'],
  ] as const) {
    it(`shows ${JSON.stringify(text)} as text: ${why}`, () => assert.equal(renderCsvRow([text]), `${shown}\r\n`));
  }

  it('quotes cells with commas, quotes or line breaks', () => {
    assert.equal(renderCsvRow(['a', 'b,c', 'd"e', 'f\ng', '']), 'a,"b,c","d""e","f\ng",\r\n');
  });
});

describe('a parsed row', () => {
  it('gives back the cells that were rendered', () => {
    // One line, no blanks at the ends, no formula: the form of imports.
    const text = fc.stringMatching(/^[A-Za-z0-9"][A-Za-z0-9", ;@.]{0,20}[A-Za-z0-9"]$/);
    const cell = text.filter((each) => !/(?:^|;)[ "]*@/.test(each));
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
