// Loads the page of a long list that the address asks for.
import type { Call, InputOf } from '@underpass/rules/api/call.ts';
import { askedOf } from '@underpass/rules/list/list-address.ts';
import type { ListRules } from '@underpass/rules/list/list-page.ts';
import { later } from './later.ts';
import { callPage } from './request.ts';

export function loadPage<Row extends Call & { readonly paged: true }>(
  { url, signal }: Request,
  row: Row,
  rules: ListRules,
  input: InputOf<Row>,
) {
  return later(callPage(row, { ...input, ...askedOf(new URL(url).searchParams, rules) }, { signal }));
}
