// Whether what a visitor sent may go to a second client although the first may have passed it on. Pure.

import { type OpenRequest, reachHost } from '@underpass/wire/core/open.ts';

/** The edge itself wrote these bytes: names of fields are followed by a colon, and no line is folded. */
const hasBody = /\n(?:content-length|transfer-encoding):/i;

const recordHeaderBytes = 5;
const handshakeRecord = 22;

/** True for what changes nothing upstream, if nothing was answered yet. */
export function isRepeatable({ kind, host }: Pick<OpenRequest, 'kind' | 'host'>, written: readonly Uint8Array[]): boolean {
  const bytes = Buffer.concat(written);
  if (kind === 'ingress-443' || host === reachHost) return isHandshake(bytes);
  return kind === 'http' && isSafeRequest(bytes.toString('latin1'));
}

/** Whole TLS records of the handshake alone: before an answer, a ClientHello without early data (RFC 8446 2.3) after it. */
function isHandshake(bytes: Buffer): boolean {
  let at = 0;
  while (at + recordHeaderBytes <= bytes.length && bytes[at] === handshakeRecord)
    at += recordHeaderBytes + bytes.readUInt16BE(at + 3);
  return at > 0 && at === bytes.length;
}

/** One whole request without a body, of a method that changes nothing (RFC 9110 9.2.1), and no byte after it. */
function isSafeRequest(text: string): boolean {
  const headEnd = text.indexOf('\r\n\r\n') + 4;
  return headEnd === text.length && /^(?:GET|HEAD|OPTIONS) /.test(text) && !hasBody.test(text);
}
