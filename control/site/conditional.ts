// Decides from a request's conditions whether to send a file, a part of it, or only that it is unchanged (RFC 9110 13 and 14).
// Pure.

export interface FileFacts {
  readonly size: number;
  /** A strong tag: two files with the same tag have the same bytes. */
  readonly etag: string;
}

export type Delivery =
  | { readonly kind: 'whole' }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'part'; readonly start: number; readonly end: number }
  | { readonly kind: 'unsatisfiable' };

/** If-None-Match compares weakly: a cache may have weakened the tag. */
const matches = (header: string, etag: string): boolean =>
  header.trim() === '*' || header.split(',').some((each) => each.trim().replace(/^W\//, '') === etag);

/** `undefined` for a range that we do not support: then the whole file is sent (RFC 9110 14.2). */
function parseRange(header: string, size: number): Delivery | undefined {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(header.replaceAll(' ', ''));
  const [, first = '', last = ''] = match ?? [];
  if (!match || (first === '' && last === '')) return undefined;
  if (first === '') {
    const count = Math.min(Number(last), size);
    return count === 0 ? { kind: 'unsatisfiable' } : { kind: 'part', start: size - count, end: size - 1 };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return undefined;
  if (start >= size) return { kind: 'unsatisfiable' };
  return { kind: 'part', start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
}

export function decideDelivery(method: string, headers: Headers, { size, etag }: FileFacts): Delivery {
  const known = headers.get('if-none-match');
  if (known !== null && matches(known, etag)) return { kind: 'unchanged' };
  const range = headers.get('range');
  const onlyIf = headers.get('if-range');
  // A part of a changed file would corrupt what the client has. Only the tag proves that it is the same file; a date is not exact enough.
  if (method !== 'GET' || range === null || (onlyIf !== null && onlyIf.trim() !== etag)) return { kind: 'whole' };
  return parseRange(range, size) ?? { kind: 'whole' };
}
