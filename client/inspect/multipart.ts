// The parts of a multipart form (RFC 7578), for display: names, values of text parts, sizes of files.

import type { FormField } from '@underpass/rules/inspect/exchange.ts';
import { fieldOf, mediaTypeOf, parameterOf, readHead } from './core/head.ts';

const maxParts = 500;
/** RFC 2046 5.1.1. */
const maxBoundaryBytes = 70;
const maxPartHeadBytes = 8 * 1024;
/** Shown of a text value. */
const maxValueBytes = 16 * 1024;

/** The last part of a body that is cut ends with the body. */
export function readMultipart(body: Buffer, boundary: string): FormField[] {
  if (boundary === '' || boundary.length > maxBoundaryBytes) return [];
  const fields: FormField[] = [];
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  let at = body.indexOf(`--${boundary}`, 0, 'latin1');
  if (at === -1) return [];
  at += boundary.length + 2;
  while (fields.length < maxParts && body.toString('latin1', at, at + 2) === '\r\n') {
    const end = body.indexOf(delimiter, at);
    const part = body.subarray(at + 2, end === -1 ? body.length : end);
    const field = readPart(part);
    if (field !== null) fields.push(field);
    if (end === -1) break;
    at = end + delimiter.length;
  }
  return fields;
}

function readPart(part: Buffer): FormField | null {
  const headEnd = part.subarray(0, maxPartHeadBytes).indexOf('\r\n\r\n');
  if (headEnd === -1) return null;
  // A start line of its own, because readHead takes the first line for it.
  const head = readHead(`\r\n${part.toString('utf8', 0, headEnd)}`);
  const disposition = fieldOf(head, 'content-disposition') ?? '';
  const content = part.subarray(headEnd + 4);
  const fileName = parameterOf(disposition, 'filename') ?? null;
  const mediaType = mediaTypeOf(fieldOf(head, 'content-type'));
  const isText = fileName === null || /^text\/|json$/.test(mediaType);
  return {
    name: parameterOf(disposition, 'name') ?? '',
    value: isText ? content.toString('utf8', 0, maxValueBytes) : null,
    fileName,
    mediaType,
    bytes: content.length,
  };
}
