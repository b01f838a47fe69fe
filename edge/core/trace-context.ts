// The trace of a request (W3C Trace Context): a valid `traceparent` passes untouched. Where the owner wants it, the edge begins a
// trace for a request that brings none.

import { type HeadField, headFieldsOf } from '@underpass/wire/http/head-field.ts';
import { nextLine } from '@underpass/wire/http/head-scan.ts';
import type { RequestHead } from '@underpass/wire/http/request-head.ts';

const versioned = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/**
 * The trace id of a valid `traceparent`, else an empty text. Version 00 has nothing behind its flags; later versions may; ff is
 * none (W3C Trace Context, 2.2.2 and 2.2.3).
 */
export function traceIdOf(text: string): string {
  const [, version, traceId = '', parentId = '', rest] = versioned.exec(text) ?? [];
  const isKnown = version !== undefined && version !== 'ff' && (version !== '00' || rest === undefined);
  return isKnown && !/^0+$/.test(traceId) && !/^0+$/.test(parentId) ? traceId : '';
}

/** Reads no more of a field than the longest that is known, and some of a later version. */
const mostChars = 512;

/** The trace id that the upstream will read: empty if there is not exactly one valid `traceparent`. `end`: of the head. */
export const passedTraceId = (head: RequestHead, bytes: Buffer, end: number): string =>
  traceIdOfField(head, bytes, headFieldsOf(head, bytes, end, traceFields)[0]!);

const traceFields = ['traceparent'];

/** The same, of the field that was found. */
export function traceIdOfField(head: RequestHead, bytes: Buffer, { count, line, start, end: stop }: HeadField): string {
  const isPassed = count === 1 && stop - start <= mostChars && !isDropped(head, line);
  return isPassed ? traceIdOf(bytes.toString('latin1', start, stop)) : '';
}

/** `Connection` may name the field, so that it goes no further. */
function isDropped({ drops, dropCount }: RequestHead, line: number): boolean {
  for (let at = 0; at < dropCount; at++) if (drops[2 * at]! <= line && line < drops[2 * at + 1]!) return true;
  return false;
}

/** Random bytes of a trace and of the edge's part of it. */
export const traceBytes = 24;

/**
 * The field line of a new trace. Whatever the request brought is left out, `tracestate` too: that belongs to a trace which nobody
 * can name (W3C Trace Context, 4.3). It says `sampled`, so the services decide as they do without it.
 */
export function beginTrace(
  head: RequestHead,
  bytes: Buffer,
  end: number,
  random: Buffer,
): { readonly id: string; readonly line: Buffer } {
  for (const name of ['traceparent', 'tracestate']) dropFields(head, bytes, end, name);
  const id = random.toString('hex', 0, 16);
  return { id, line: Buffer.from(`traceparent: 00-${id}-${random.toString('hex', 16, traceBytes)}-01\r\n`, 'latin1') };
}

/** Leaves out each line of the field. */
function dropFields(head: RequestHead, bytes: Buffer, end: number, name: string): void {
  for (let line = head.fieldsAt; line < end - 2; ) {
    const after = nextLine(bytes, line);
    if (bytes.toString('latin1', line, line + name.length + 1).toLowerCase() === `${name}:`) head.cut(line, after);
    line = after;
  }
}
