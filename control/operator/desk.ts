// The operator functions for underpass-server's commands and the first start, which have no session.

import type { Desk, DeskDeps } from './actor.ts';
import { createBlock, deleteBlock, importBlocks, listBlocks } from './blocks.ts';
import { removeUserPasskeys } from './passkeys.ts';
import { changeProject, listAllProjects, removeProject } from './projects.ts';
import { createRegion, createRegionKey, ensureRegion, listOperatorRegions } from './regions.ts';
import { approve, findRegistration, listRegistrations, reject } from './registrations.ts';
import { importSubscriptions, listSubscriptions } from './subscriptions.ts';
import { changeTunnel, listAllTunnels } from './tunnels.ts';
import { changeUser, createOperatorLink, deleteUser, ensureOperator, listUsers } from './users.ts';

/** Each takes a desk first, which createOperatorDesk passes. */
const functions = {
  ...{ listRegistrations, findRegistration, approve, reject },
  ...{ listSubscriptions, importSubscriptions },
  ...{
    listUsers,
    changeUser,
    deleteUser,
    ensureOperator,
    createLoginLink: createOperatorLink,
    removePasskeys: removeUserPasskeys,
  },
  ...{ listProjects: listAllProjects, changeProject, deleteProject: removeProject },
  ...{ listBlocks, createBlock, deleteBlock, importBlocks },
  ...{ listTunnels: listAllTunnels, changeTunnel },
  ...{ listRegions: listOperatorRegions, createRegion, createRegionKey, ensureRegion },
} as const;

type WithoutDesk<F> = F extends (desk: Desk, ...rest: infer Rest) => infer Answer ? (...rest: Rest) => Answer : never;
export type OperatorDesk = { readonly [Name in keyof typeof functions]: WithoutDesk<(typeof functions)[Name]> };

export interface OperatorDeskDeps extends DeskDeps {
  readonly clock: () => number;
}

export function createOperatorDesk(deps: OperatorDeskDeps): OperatorDesk {
  const bind =
    (run: (desk: Desk, ...rest: never[]) => unknown) =>
    (...rest: never[]): unknown =>
      run({ deps, by: 'operator', address: '', nowMs: deps.clock() }, ...rest);
  const bound = Object.entries(functions).map(([name, run]) => [name, bind(run)]);
  return Object.fromEntries(bound) as unknown as OperatorDesk;
}
