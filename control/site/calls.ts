// The calls about this installation that anybody may make: its facts and its downloads.

import type { Meta } from '@underpass/rules/resource.ts';
import type { Handlers } from '../access/call.ts';
import type { Releases } from './releases.ts';

export const createSiteCalls = (meta: Meta, releases: Releases): Handlers<'getMeta' | 'listReleases'> => ({
  getMeta: async () => meta,
  listReleases: () => releases.list(),
});
