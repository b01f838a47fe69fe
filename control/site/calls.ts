// Facts about this installation that anybody may read.

import type { Handlers } from '../access/call.ts';
import type { Releases } from './releases.ts';

export const createMetaCalls = (releases: Releases): Handlers<'getMeta' | 'listReleases'> => ({
  getMeta: async ({ deps: { settings } }) => ({
    version: settings.version,
    origin: settings.origin,
    operator: settings.operatorIdentity,
  }),
  listReleases: () => releases.list() as Promise<unknown>,
});
