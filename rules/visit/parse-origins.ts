// Web origins whose pages may use the sessions of a policy's visitors.

import { accept, type Parsed, parseEach, refuse } from '../parsed.ts';
import { policyLimits } from './policy-limits.ts';

/** Parses what browsers send in `Origin`. A page without TLS could be anybody's, so it must have TLS. */
export function parseOrigin(text: string): Parsed<string> {
  const typed = text.trim();
  if (typed === '') return refuse('Required.');
  const url = URL.parse(typed);
  const isPlain = url?.protocol === 'https:' && `${url.pathname}${url.search}${url.hash}${url.username}${url.password}` === '/';
  // `new URL` drops an empty "?" or "#", reads "\\" as "/", and takes "*" for a letter of a name.
  if (url === null || !isPlain || /[?#\\*]/.test(typed))
    return refuse(`Origin must look like 'https://app.example.com', is '${typed}'.`);
  return accept(url.origin);
}

export const parseOrigins = (list: readonly string[]): Parsed<readonly string[]> =>
  parseEach(list, parseOrigin, policyLimits.origins, 'origins');
