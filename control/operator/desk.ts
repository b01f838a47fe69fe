// The operator functions for underpass-server's commands and the first start, which have no session.

import { writePersonalFile } from '../people/account/export.ts';
import { type ActingOperator, newest, type OperatorNeeds } from './actor.ts';
import { createBlock, deleteBlock, importBlocks, listBlocks } from './blocks.ts';
import { removeUserPasskeys } from './passkeys.ts';
import { changeProject, listAllProjects, removeProject } from './projects.ts';
import { createRegion, createRegionKey, ensureRegion, listOperatorRegions } from './regions.ts';
import { approve, findRegistration, listRegistrations, reject } from './registrations.ts';
import { importSubscriptions, listSubscriptions } from './subscriptions.ts';
import { changeTunnel, listAllTunnels } from './tunnels.ts';
import { changeUser, createOperatorLink, deleteUser, ensureOperator, exportUser, listUsers, readUserReach } from './users.ts';

// What a command prints: all subscribers of a closed preview.
const printedSubscriptions = 5_000;

/** Each takes an acting operator first, whom createOperatorDesk passes. */
const functions = {
  listRegistrations: async (operator: ActingOperator, of?: { readonly state?: string }) =>
    (await listRegistrations(operator, of)).rows,
  ...{ findRegistration, approve, reject },
  listSubscriptions: async (operator: ActingOperator) =>
    (await listSubscriptions(operator, newest('', printedSubscriptions))).rows,
  importSubscriptions,
  listUsers: async (operator: ActingOperator, q?: string) => (await listUsers(operator, newest(q))).rows,
  ...{
    changeUser,
    deleteUser,
    writeUserFile: async (operator: ActingOperator, id: string) =>
      writePersonalFile(operator.deps.store.db, await exportUser(operator, id)),
    readUserReach,
    ensureOperator,
    createLoginLink: createOperatorLink,
    removePasskeys: removeUserPasskeys,
  },
  listBlocks: async (operator: ActingOperator, q?: string) => (await listBlocks(operator, newest(q))).rows,
  ...{ createBlock, deleteBlock, importBlocks },
  listProjects: async (operator: ActingOperator, q?: string) => (await listAllProjects(operator, newest(q))).rows,
  ...{ changeProject, deleteProject: removeProject },
  listTunnels: async (operator: ActingOperator, q?: string) => (await listAllTunnels(operator, newest(q))).rows,
  changeTunnel,
  ...{ listRegions: listOperatorRegions, createRegion, createRegionKey, ensureRegion },
} as const;

type WithoutOperator<F> = F extends (operator: ActingOperator, ...rest: infer Rest) => infer Answer
  ? (...rest: Rest) => Answer
  : never;
export type OperatorDesk = { readonly [Name in keyof typeof functions]: WithoutOperator<(typeof functions)[Name]> };

interface OperatorDeskDeps extends OperatorNeeds {
  readonly clock: () => number;
}

export function createOperatorDesk(deps: OperatorDeskDeps): OperatorDesk {
  const bind =
    (run: (operator: ActingOperator, ...rest: never[]) => unknown) =>
    (...rest: never[]): unknown =>
      run({ deps, by: 'operator', address: '', nowMs: deps.clock() }, ...rest);
  const bound = Object.entries(functions).map(([name, run]) => [name, bind(run)]);
  return Object.fromEntries(bound) as unknown as OperatorDesk;
}
