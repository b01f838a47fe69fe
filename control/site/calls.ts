// The calls about this installation that anybody may make: its facts and its downloads.

import type { Meta } from '@underpass/rules/entity/resource.ts';
import type { Handlers } from '../request/caller/call.ts';
import type { Releases } from './releases.ts';

export const createSiteCalls = (meta: Meta, releases: Releases) =>
  ({
    getMeta: async () => meta,
    listReleases: () => releases.list(),
  }) satisfies Partial<Handlers>;
