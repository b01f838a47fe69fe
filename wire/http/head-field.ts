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
export function headFieldOf(head: RequestHead, bytes: Buffer, end: number, name: string): HeadField {
  if (kindOfName(name) !== fieldKind.other) return absent;
  return headFieldsOf(head, bytes, end, [name.replace(/[^0-9a-z]/g, '-')])[0]!;
}

/** Finds several in one pass. `names` are in lower case with "-" for each mark, and without a meaning of their own for the edge. */
export function headFieldsOf({ fieldsAt }: RequestHead, bytes: Buffer, end: number, names: readonly string[]): HeadField[] {
  const found = names.map(() => absent);
  for (let line = fieldsAt; line < end - 2; ) {
    const after = nextLine(bytes, line);
    for (let at = 0; at < names.length; at++) {
      const colon = line + names[at]!.length;
      if (bytes[colon] !== colonSign || !foldedIs(names[at]!, bytes, line, colon)) continue;
      found[at] = { count: found[at]!.count + 1, line, ...trimmed(bytes, colon + 1, after - 2) };
    }
    line = after;
  }
  return found;
}

function trimmed(bytes: Buffer, from: number, to: number): { readonly start: number; readonly end: number } {
  let [start, end] = [from, to];
  while (start < end && isSpace(bytes[start])) start++;
  while (end > start && isSpace(bytes[end - 1])) end--;
  return { start, end };
}

const isSpace = (octet: number | undefined): boolean => octet === sp || octet === htab;
