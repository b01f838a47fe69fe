// Whether a request may go to a second client although the first may have passed it on. Pure.

import type { StreamKind } from '@underpass/wire/core/open.ts';

/** The edge itself wrote these bytes: names of fields are followed by a colon, and no line is folded. */
const hasBody = /\n(?:content-length|transfer-encoding):/i;

/** True for one whole request without a body, of a method that changes nothing (RFC 9110 9.2.1), and no byte after it. */
export function isRepeatable(kind: StreamKind, written: readonly Uint8Array[]): boolean {
  if (kind !== 'http') return false;
  const text = Buffer.concat(written).toString('latin1');
  const headEnd = text.indexOf('\r\n\r\n') + 4;
  return headEnd === text.length && /^(?:GET|HEAD|OPTIONS) /.test(text) && !hasBody.test(text);
}
