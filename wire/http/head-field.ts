// Finds one field of a request that the parser does not note, for the few requests that need it.

import { fieldKind, foldedIs, kindOfName } from './field-names.ts';
import { nextLine } from './head-scan.ts';
import { colonSign, htab, sp } from './octets.ts';
import type { RequestHead } from './request-head.ts';

export interface HeadField {
  /** How often it is there. The span is that of the last one. */
  readonly count: number;
  readonly line: number;
  readonly start: number;
  readonly end: number;
}

const absent: HeadField = { count: 0, line: 0, start: 0, end: 0 };

/**
 * `name` in lower case. A name with "_" for "-" counts as the same one: a CGI upstream cannot tell them apart. A field that has
 * a meaning of its own for the edge is never found. `end`: of the head.
 */
export function headFieldOf({ fieldsAt }: RequestHead, bytes: Buffer, end: number, name: string): HeadField {
  const folded = name.replace(/[^0-9a-z]/g, '-');
  let found = absent;
  for (let line = fieldsAt; line < end - 2; ) {
    const after = nextLine(bytes, line);
    const colon = line + folded.length;
    if (bytes[colon] === colonSign && foldedIs(folded, bytes, line, colon)) {
      found = { count: found.count + 1, line, ...trimmed(bytes, colon + 1, after - 2) };
    }
    line = after;
  }
  return kindOfName(name) === fieldKind.other ? found : absent;
}

function trimmed(bytes: Buffer, from: number, to: number): { readonly start: number; readonly end: number } {
  let [start, end] = [from, to];
  while (start < end && isSpace(bytes[start])) start++;
  while (end > start && isSpace(bytes[end - 1])) end--;
  return { start, end };
}

const isSpace = (octet: number | undefined): boolean => octet === sp || octet === htab;
