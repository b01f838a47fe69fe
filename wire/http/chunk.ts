// The chunked framing of HTTP/1.1 bodies and their trailers, as text: RFC 9112 7.1.

import { kindOfName, maySayInTrailer } from './field-names.ts';

/** A value has no CR, LF or NUL. Checked here too, in case the layer below lets one through. */
export const plainValue = /^[\t\x20-\x7e\x80-\xff]*$/;
export const plainName = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;

export function frameChunk(piece: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`, 'latin1'), piece, Buffer.from('\r\n', 'latin1')]);
}

/** The end of a chunked message: its last chunk, and its trailers without the fields that a trailer must not have. */
export function renderLastChunk(trailers: Iterable<readonly [string, string | readonly string[] | undefined]>): Buffer {
  let text = '';
  for (const [name, value] of trailers) {
    const allowed = plainName.test(name) && maySayInTrailer(kindOfName(name));
    for (const one of typeof value === 'string' ? [value] : (value ?? [])) {
      if (allowed && plainValue.test(one)) text += `${name}: ${one}\r\n`;
    }
  }
  return Buffer.from(`0\r\n${text}\r\n`, 'latin1');
}
