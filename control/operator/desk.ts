// The operator functions for underpass-server's commands and the first start, which have no session.

import { type Desk, type DeskDeps, newest } from './actor.ts';
import { createBlock, deleteBlock, importBlocks, listBlocks } from './blocks.ts';
import { removeUserPasskeys } from './passkeys.ts';
import { changeProject, listAllProjects, removeProject } from './projects.ts';
import { createRegion, createRegionKey, ensureRegion, listOperatorRegions } from './regions.ts';
import { approve, findRegistration, listRegistrations, reject } from './registrations.ts';
import { importSubscriptions, listSubscriptions } from './subscriptions.ts';
import { changeTunnel, listAllTunnels } from './tunnels.ts';
import { changeUser, createOperatorLink, deleteUser, ensureOperator, listUsers } from './users.ts';

// What a command prints: all subscribers of a closed preview.
const printedSubscriptions = 5_000;

/** Each takes a desk first, which createOperatorDesk passes. */
const functions = {
  listRegistrations: async (desk: Desk, of?: { readonly state?: string }) => (await listRegistrations(desk, of)).rows,
  ...{ findRegistration, approve, reject },
  listSubscriptions: async (desk: Desk) => (await listSubscriptions(desk, newest('', printedSubscriptions))).rows,
  importSubscriptions,
  listUsers: async (desk: Desk, q?: string) => (await listUsers(desk, newest(q))).rows,
  ...{
    changeUser,
    deleteUser,
    ensureOperator,
    createLoginLink: createOperatorLink,
    removePasskeys: removeUserPasskeys,
  },
  listBlocks: async (desk: Desk, q?: string) => (await listBlocks(desk, newest(q))).rows,
  ...{ createBlock, deleteBlock, importBlocks },
  listProjects: async (desk: Desk, q?: string) => (await listAllProjects(desk, newest(q))).rows,
  ...{ changeProject, deleteProject: removeProject },
  listTunnels: async (desk: Desk, q?: string) => (await listAllTunnels(desk, newest(q))).rows,
  changeTunnel,
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
