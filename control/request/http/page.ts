// The answer of a call with pages: the rows as JSON, how many there are, and links to the pages beside it (RFC 8288).

import { countsHeader, type ListPage, renderCounts, renderNumbers, sumsHeader } from '@underpass/rules/list/list-page.ts';

function linkTo({ url }: Request, relation: 'next' | 'prev', name: 'after' | 'before', cursor: string): string {
  const { pathname, searchParams } = new URL(url);
  for (const each of ['after', 'before']) searchParams.delete(each);
  if (cursor !== '') searchParams.set(name, cursor);
  return `<${pathname}?${searchParams}>; rel="${relation}"`;
}

export function answerPage(request: Request, page: ListPage<unknown>): Response {
  const headers = new Headers({ [countsHeader]: renderCounts(page) });
  if (page.sums !== undefined) headers.set(sumsHeader, renderNumbers(page.sums));
  if (page.previous !== null) headers.append('link', linkTo(request, 'prev', 'before', page.previous));
  if (page.next !== null) headers.append('link', linkTo(request, 'next', 'after', page.next));
  return Response.json(page.rows, { headers });
}
