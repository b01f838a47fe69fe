// A QR code of an address for the terminal: two modules in each character.

import encodeQr from 'qr';
import type { Io } from '../process/io.ts';

/** The live status below it and the lines above it. */
const otherRows = 14;

const onBlack = '\x1b[97;40m';
const reset = '\x1b[0m';

/** Undefined if it would not fit beside the live status. Cameras want dark modules on light, whatever the terminal's colours. */
export function renderQrCode(text: string, { stdout, env }: Pick<Io, 'stdout' | 'env'>): string | undefined {
  const lines = encodeQr(text, 'ascii', { border: 2 }).trimEnd().split('\n');
  const width = Math.max(...lines.map((line) => line.length));
  if (width >= stdout.columns() || lines.length + otherRows > stdout.rows()) return undefined;
  return `${lines.map((line) => (env.NO_COLOR ? line : `${onBlack}${line}${reset}`)).join('\n')}\n`;
}
