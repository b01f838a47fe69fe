// Which methods the path of a request has in the table of calls.

import { calls } from '@underpass/rules/api/calls.ts';

const rows = Object.values(calls).map(({ method, path }) => ({
  method,
  pattern: new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`),
}));

/** Empty for a path that is not in the table. */
export const methodsOf = (path: string): readonly string[] => [
  ...new Set(rows.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)),
];
