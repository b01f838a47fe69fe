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
  // RFC 4918: on a folder, these act on all that is in it.
  DELETE: 'tree',
  PROPFIND: 'tree',
  PROPPATCH: 'tree',
  MKCOL: 'tree',
  LOCK: 'tree',
  UNLOCK: 'tree',
};

export const reachOf = (method: string): Reach => (Object.hasOwn(reaches, method) ? (reaches[method] as Reach) : 'service');
