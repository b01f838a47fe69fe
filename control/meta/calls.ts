// Facts about this installation that anybody may read.

import type { Handlers } from '../api/call.ts';
import type { Releases } from '../release/releases.ts';

export const createMetaCalls = (releases: Releases): Handlers<'getMeta' | 'listReleases'> => ({
  getMeta: async ({ deps: { settings } }) => ({
    version: settings.version,
    origin: settings.origin,
    operator: settings.operatorIdentity,
  }),
  listReleases: () => releases.list() as Promise<unknown>,
});
