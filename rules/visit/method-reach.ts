// What a request may touch besides the path that it asks for, by its method. Pure.

/** The path alone; also everything below it; any path of the service. */
export type Reach = 'path' | 'tree' | 'service';

/**
 * A method that is missing here may name other paths where no rule can see them: MOVE and COPY in `Destination`, BIND, REPORT and
 * SEARCH in the body, LINK in `Link`. Unknown methods may, too.
 */
const reaches: Readonly<Record<string, Reach>> = {
  GET: 'path',
  HEAD: 'path',
  OPTIONS: 'path',
  POST: 'path',
  PUT: 'path',
  PATCH: 'path',
  QUERY: 'path',
  MKCOL: 'path',
  // Like a GET of a folder, it may list names of what is in it, and no content.
  PROPFIND: 'path',
  PROPPATCH: 'path',
  // RFC 4918: on a folder, these act on all that is in it.
  DELETE: 'tree',
  LOCK: 'tree',
  UNLOCK: 'tree',
};

/** `override`: the method that a header field names, in any case; null: none. Servers differ on which of the two they obey. */
export function reachOf(method: string, override: string | null): Reach {
  const own = reachOfMethod(method);
  const other = override === null ? 'path' : reachOfMethod(override.toUpperCase());
  return own === 'path' || other === 'service' ? other : own;
}

const reachOfMethod = (method: string): Reach => (Object.hasOwn(reaches, method) ? (reaches[method] as Reach) : 'service');
