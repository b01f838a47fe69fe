// The answer of a call with pages: the rows as JSON, how many there are, and a link to the next page (RFC 8288).

import { countsHeader, type ListPage, renderCounts, renderNumbers, sumsHeader } from '@underpass/rules/list-page.ts';

const nextUrl = ({ url }: Request, cursorName: string, next: string): string => {
  const { pathname, searchParams } = new URL(url);
  searchParams.set(cursorName, next);
  return `${pathname}?${searchParams}`;
};

/** `cursorName`: the query parameter that takes `next`. */
export const answerPage = (request: Request, page: ListPage<unknown>, cursorName = 'after'): Response => {
  const headers = new Headers({ [countsHeader]: renderCounts(page) });
  if (page.sums !== undefined) headers.set(sumsHeader, renderNumbers(page.sums));
  if (page.next !== null) headers.set('link', `<${nextUrl(request, cursorName, page.next)}>; rel="next"`);
  return Response.json(page.rows, { headers });
};
