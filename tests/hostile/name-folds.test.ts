// Path rules against every character of Unicode: Go, Python and Node say what they make of it in other case or in another normal
// form, and a rule for the one spelling must hold for the other.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { compilePaths } from '@underpass/rules/visit/path-match.ts';
import { requireTool, skipWithout } from '../helpers/tool.ts';

/** What a server makes of a text, and how. */
type Fold = readonly [from: string, how: string, to: string];

/** A rule cannot hold these, so it names the path that a server finds after them: they separate, or the path ends there. */
const structure = /[\\;?#%]/;
const decide = (rule: string, path: string): string =>
  compilePaths([
    { path: `${rule}/*`, action: 'deny' },
    { path: '/*', action: 'public' },
  ])(`${encodeURI(path).replace(/[?#]/g, encodeURIComponent)}/x`).action;

/** Whether a rule for what the server makes of the text denies the text. */
function guards([from, , to]: Fold): boolean {
  if (to.includes('%')) return decide('/xA', `/x${from}41`) === 'deny';
  return decide(`/x${to.split(structure)[0]}`, `/x${from}`) === 'deny';
}

/** Tests both ways: the server may do the same to the name of its own page. */
function guardsBoth(fold: Fold): boolean {
  const [from, , to] = fold;
  const key = `${from}\0${to}`;
  let holds = known.get(key);
  if (holds === undefined) {
    holds = guards(fold) && (structure.test(to) || decide(`/x${from}`, `/x${to}`) === 'deny');
    known.set(key, holds);
  }
  return holds;
}

/** Go, Python and Node make the same of most characters, in several ways. */
const known = new Map<string, boolean>();

/** Lists at most twenty: thousands of lines take minutes to compare. */
const weakOf = (folds: readonly Fold[], holds = guardsBoth): string[] =>
  folds
    .filter((fold) => !holds(fold))
    .slice(0, 20)
    .map((fold) => `U+${fold[0].codePointAt(0)?.toString(16)} ${fold.join(' ')}`);

function parseFolds(text: string): Fold[] {
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const [code = '', how = '', ...to] = line.split('\t');
    return [String.fromCodePoint(Number.parseInt(code, 16)), how, to.join('\t')];
  });
}

/** Answers of at most this much: 2 MB from Python. */
const mostBytes = 64 * 1024 * 1024;

const goProgram = `package main
import ("bufio"; "fmt"; "os"; "strings"; "unicode")
func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for c := rune(0x80); c <= unicode.MaxRune; c++ {
		if c >= 0xd800 && c < 0xe000 { continue }
		text := string(c)
		say := func(how, to string) { if to != text { fmt.Fprintf(out, "%x\\t%s\\t%s\\n", c, how, to) } }
		say("ToLower", strings.ToLower(text)); say("ToUpper", strings.ToUpper(text)); say("ToTitle", strings.ToTitle(text))
		say("ToLower, Turkish", strings.ToLowerSpecial(unicode.TurkishCase, text))
		say("ToUpper, Turkish", strings.ToUpperSpecial(unicode.TurkishCase, text))
		for other := unicode.SimpleFold(c); other != c; other = unicode.SimpleFold(other) { say("EqualFold", string(other)) }
	}
}
`;

test('a rule holds for what Go makes of any character', { skip: skipWithout('go') }, (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'underpass-folds-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'main.go'), goProgram);
  const text = execFileSync(requireTool('go'), ['run', 'main.go'], { cwd: folder, encoding: 'utf8', maxBuffer: mostBytes });
  const folds = parseFolds(text);
  assert.ok(folds.length > 2_000, String(folds.length));
  assert.deepEqual(weakOf(folds), []);
});

const pythonProgram = `
import sys, unicodedata
sys.stdout.reconfigure(encoding='utf-8', newline='\\n')
for code in range(0x80, 0x110000):
    text = chr(code)
    if unicodedata.category(text) in ('Cn', 'Co', 'Cs'): continue
    made = {how: getattr(text, how)() for how in ('lower', 'upper', 'casefold', 'title', 'swapcase')}
    made.update({form: unicodedata.normalize(form, text) for form in ('NFC', 'NFD', 'NFKC', 'NFKD')})
    made['without marks'] = ''.join(one for one in made['NFKD'] if not unicodedata.combining(one))
    if text.isdecimal(): made['int'] = str(int(text))
    for how, to in made.items():
        if to != text: print('%x\\t%s\\t%s' % (code, how, to))
`;

test('a rule holds for what Python makes of any character', { skip: skipWithout('python3') }, () => {
  const text = execFileSync(requireTool('python3'), ['-c', pythonProgram], { encoding: 'utf8', maxBuffer: mostBytes });
  const folds = parseFolds(text);
  assert.ok(folds.length > 20_000, String(folds.length));
  assert.deepEqual(weakOf(folds), []);
});

const nodeFolds: Readonly<Record<string, (text: string) => string>> = {
  toLowerCase: (text) => text.toLowerCase(),
  toUpperCase: (text) => text.toUpperCase(),
  'both, as Java ignores case': (text) => text.toUpperCase().toLowerCase(),
  'Turkish lower case': (text) => text.toLocaleLowerCase('tr'),
  'Turkish upper case': (text) => text.toLocaleUpperCase('tr'),
  'Lithuanian lower case': (text) => text.toLocaleLowerCase('lt'),
  NFC: (text) => text.normalize('NFC'),
  NFKC: (text) => text.normalize('NFKC'),
  NFKD: (text) => text.normalize('NFKD'),
  'NFKC without characters that show nothing': (text) => text.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, ''),
  'without marks': (text) => text.normalize('NFD').replace(/\p{M}/gu, ''),
};

const foldsOf = (text: string): Fold[] =>
  Object.entries(nodeFolds)
    .map(([how, fold]): Fold => [text, how, fold(text)])
    .filter(([, , to]) => to !== text);

/** Characters that no rule of Unicode brings to another: surrogates, private ones, and those to come. Some of the last show nothing. */
const without = /[[\p{Cn}\p{Co}\p{Cs}]--\p{Default_Ignorable_Code_Point}]/v;

test('a rule holds for what Node makes of any character', () => {
  const weak: string[] = [];
  for (let code = 0x80; code < 0x110000; code++) {
    const char = String.fromCodePoint(code);
    if (!without.test(char)) weak.push(...weakOf(foldsOf(char)));
  }
  assert.deepEqual(weak.slice(0, 20), []);
});

test('a rule holds for what Node makes of a letter between others, on which it may depend', () => {
  const letters = [...'Σσςßſıİ\u212aisé\u0307\u0345ᾳﬁΐ'];
  const names = letters.flatMap((one) => letters.flatMap((two) => letters.map((three) => one + two + three)));
  assert.deepEqual(weakOf(names.flatMap(foldsOf)), []);
});

test('a rule holds for the nearest character of a code page of Windows', () => {
  const nearest: readonly (readonly [page: number, from: string, to: string])[] = [
    [1250, 'Ø', 'O'],
    [1251, 'é', 'e'],
    [1251, 'ø', 'o'],
    [1252, 'ā', 'a'],
    [1252, 'đ', 'd'],
    [1252, 'ł', 'l'],
    [1252, 'ħ', 'h'],
    [1252, 'Ω', 'O'],
    [1252, 'π', 'p'],
    [1252, '∞', '8'],
    [1252, 'ⅰ', 'i'],
    [1252, 'ａ', 'a'],
    [1252, '‐', '-'],
    [1252, '′', "'"],
    [1252, '⁄', '/'],
    [1252, '∕', '/'],
    [1252, '∖', '\\'],
    [1252, '٪', '%'],
    [1253, '´', '/'],
    [1256, '٣', '3'],
    [932, '¥', '\\'],
    [932, '¿', '?'],
    [932, 'ß', 's'],
    [932, '\u00ad', '-'],
    [949, '₩', '\\'],
    [950, 'æ', 'a'],
  ];
  assert.deepEqual(
    weakOf(
      nearest.map(([page, from, to]) => [from, String(page), to]),
      guards,
    ),
    [],
  );
});
