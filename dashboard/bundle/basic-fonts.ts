// Makes small fonts with the letters of English and the weights that the dashboard uses: a first load needs no others. styles/fonts.css
// names them first; for other letters the browser loads the whole fonts.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fontPath } from '@underpass/rules/screen/look.ts';
import subsetFont from 'subset-font';
import type { Plugin } from 'vite';

/** Where styles/fonts.css expects them. */
const folder = join(import.meta.dirname, '..', '.fonts');

const ascii = String.fromCodePoint(...Array.from({ length: 95 }, (_, index) => 0x20 + index));
/** The characters of the basic ranges in styles/fonts.css. */
const letters = `${ascii}\u00a0©·×–—‘’“”…`;
const variationAxes = { wght: { min: 400, max: 700 } };
/** Kerning, and figures of one width for columns. Letters of other features, such as small capitals, are a quarter of the font. */
const keepFeatures = ['kern', 'tnum'];

const fonts = {
  'overpass-basic.woff2': '@fontsource-variable/overpass/files/overpass-latin-wght-normal.woff2',
  'overpass-mono-basic.woff2': '@fontsource-variable/overpass-mono/files/overpass-mono-latin-wght-normal.woff2',
};

const { resolve } = createRequire(import.meta.url);

export const basicFonts = (): Plugin => ({
  name: 'underpass-basic-fonts',
  buildStart: async () => {
    mkdirSync(folder, { recursive: true });
    for (const [name, source] of Object.entries(fonts)) {
      const options = { targetFormat: 'woff2', variationAxes, keepFeatures } as const;
      const font = await subsetFont(readFileSync(resolve(source)), letters, options);
      writeFileSync(join(folder, name), font);
    }
  },
  /** Writes one by a fixed name, too, for the style sheet of control's pages (rules/screen/look.ts). */
  generateBundle() {
    const source = readFileSync(join(folder, 'overpass-basic.woff2'));
    this.emitFile({ type: 'asset', fileName: fontPath.slice(1), source });
  },
});
