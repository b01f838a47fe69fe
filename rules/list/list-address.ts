// What the address of a list's page asks for. Pure.

import { type AskedList, type ListRules, pageRows, searchMostChars } from './list-page.ts';

/** Leaves out words of the address that the list does not know. */
export function askedOf(search: URLSearchParams, { statuses, sorts, newestFirst }: ListRules) {
  const known = (name: string, words: readonly string[]) => words.find((word) => word === search.get(name));
  const directions = sorts.flatMap((key) => [key, `-${key}`]);
  return {
    q: search.get('q')?.slice(0, searchMostChars) || undefined,
    status: known('status', statuses),
    sort: known('sort', directions) ?? (newestFirst ? undefined : sorts[0]),
    after: search.get('after') || undefined,
    before: search.get('before') || undefined,
    limit: String(pageRows),
  } satisfies AskedList;
}
