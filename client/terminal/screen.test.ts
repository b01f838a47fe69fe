import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createScreen } from './screen.ts';

/** A terminal that knows the few sequences that the screen uses, and wraps long lines as a real one does. */
function fakeTerminal(columns: number) {
  let rows: string[] = [''];
  let row = 0;
  let column = 0;
  const writes: string[] = [];
  const state = { columns };
  const write = (text: string) => {
    writes.push(text);
    for (const [token] of text.matchAll(/\x1b\[\??[0-9;]*[A-Za-z]|[\s\S]/g)) obey(token);
  };
  const move = (toRow: number) => {
    row = Math.max(0, toRow);
    column = 0;
    rows[row] ??= '';
  };
  const obey = (token: string) => {
    const line = rows[row] ?? '';
    if (/^\x1b\[\d+F$/.test(token)) move(row - Number.parseInt(token.slice(2), 10));
    else if (token === '\x1b[J') rows = [...rows.slice(0, row), line.slice(0, column)];
    else if (token === '\x1b[K') rows[row] = line.slice(0, column);
    else if (token === '\n') move(row + 1);
    else if (token === '\r') column = 0;
    else if (token.length === 1) rows[row] = line.slice(0, column) + token + line.slice(++column);
  };
  /** Acts as xterm does: lines longer than the new width become several rows. */
  const resize = (width: number) => {
    const next = rows.flatMap((line) => (line === '' ? [''] : (line.match(new RegExp(`.{1,${width}}`, 'g')) ?? [''])));
    row += next.length - rows.length;
    rows = next;
    state.columns = width;
  };
  const out = { write, isTTY: true, columns: () => state.columns, rows: () => 24, onResize: () => () => {} };
  return { out, writes, resize, text: () => rows.join('\n').trimEnd() };
}

test('a block replaces the one before, even if it is shorter', () => {
  const terminal = fakeTerminal(80);
  const screen = createScreen(terminal.out);
  screen.show(['one', 'two', 'three']);
  screen.show(['uno', 'dos']);
  assert.equal(terminal.text(), 'uno\ndos');
});

test('an equal block writes nothing, so that nothing flickers', () => {
  const terminal = fakeTerminal(80);
  const screen = createScreen(terminal.out);
  screen.show(['one']);
  screen.show(['one']);
  assert.equal(terminal.writes.length, 1);
});

test('leaves no old lines above after the terminal became narrower', () => {
  const terminal = fakeTerminal(80);
  const screen = createScreen(terminal.out);
  screen.show(['x'.repeat(60), 'two']);
  terminal.resize(20);
  screen.show(['short', 'two']);
  assert.equal(terminal.text(), 'short\ntwo');
});

test('close shows the cursor again', () => {
  const terminal = fakeTerminal(80);
  const screen = createScreen(terminal.out);
  screen.show(['one']);
  screen.close();
  assert.match(terminal.writes[0] ?? '', /\x1b\[\?25l/);
  assert.match(terminal.writes.at(-1) ?? '', /\x1b\[\?25h/);
});
