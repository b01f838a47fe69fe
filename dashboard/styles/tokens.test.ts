// The dashboard and the pages that visitors see look the same.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { colours, fontFace, fontSans, logoSvg, radius } from '@underpass/rules/screen/look.ts';

const read = (path: string): string => readFileSync(join(import.meta.dirname, path), 'utf8');
const tokens = new Map(
  [...read('tokens.css').matchAll(/--([\w-]+): ([^;]+);/g)].map(([, name = '', value = '']) => [name, value]),
);

/** A token that has one colour in both themes may be written once. */
const inBothThemes = (value: string | undefined): unknown =>
  /^light-dark\((.*), (.*)\)$/.exec(value ?? '')?.slice(1) ?? [value, value];

test("colours, font and corners of the visitors' pages are the dashboard's tokens", () => {
  for (const [name, themes] of Object.entries(colours)) assert.deepEqual(inBothThemes(tokens.get(`color-${name}`)), themes, name);
  for (const [name, value] of Object.entries(radius)) assert.equal(tokens.get(`radius-${name}`), value, name);
  assert.equal(tokens.get('font-sans'), fontSans);
});

test("the font of the visitors' pages has the metrics of the dashboard's", () => {
  const metrics = (css: string): string[] => css.match(/(?:ascent|descent|line-gap)-override: [\d.]+%/g)!.slice(0, 3);
  assert.deepEqual(metrics(fontFace), metrics(read('fonts.css')));
});

test("the logo of the visitors' pages is the dashboard's", () => {
  const shapes = (svg: string): string[] => [...svg.matchAll(/ d="([^"]+)"/g)].map(([, path = '']) => path);
  assert.deepEqual(shapes(logoSvg), shapes(read('../public/favicon.svg')));
});
