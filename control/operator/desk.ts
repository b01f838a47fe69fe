// The operator functions for underpass-server's commands and the first start, which have no session.

import type { KeyRing } from '../secret/key-ring.ts';
import { resealTunnelTokens } from '../tunnel/token.ts';
import { changeAbuseReport, listAbuseReports } from './abuse-reports.ts';
import type { Desk, DeskDeps } from './actor.ts';
import { changeProject, listAllProjects, type ProjectChange, removeProject } from './projects.ts';
import {
  changeRegion,
  createRegion,
  createRegionKey,
  deleteRegion,
  ensureRegion,
  listOperatorRegions,
  type NewRegion,
  type RegionChange,
} from './regions.ts';
import { approve, findRegistration, listRegistrations, reject } from './registrations.ts';
import { createSubscription, deleteSubscription, importSubscriptions, listSubscriptions } from './subscriptions.ts';
import { changeTunnel, listAllTunnels } from './tunnels.ts';
import { changeUser, createOperatorLink, deleteUser, ensureOperator, listUsers, type UserChange } from './users.ts';

export interface OperatorDeskDeps extends DeskDeps {
  readonly keyRing: KeyRing;
  readonly clock: () => number;
}

export const createOperatorDesk = (deps: OperatorDeskDeps) => {
  const desk = (): Desk => ({ deps, by: 'operator', address: '', nowMs: deps.clock() });
  return {
    listRegistrations: (state?: string) => listRegistrations(desk(), state),
    findRegistration: (key: string) => findRegistration(desk(), key),
    approve: (id: string) => approve(desk(), id),
    reject: (id: string) => reject(desk(), id),
    listSubscriptions: () => listSubscriptions(desk()),
    createSubscription: (email: string, expiresAt?: string) => createSubscription(desk(), email, expiresAt),
    deleteSubscription: (id: string) => deleteSubscription(desk(), id),
    importSubscriptions: (csv: string) => importSubscriptions(desk(), csv),
    listUsers: (q?: string) => listUsers(desk(), q),
    changeUser: (id: string, change: UserChange) => changeUser(desk(), id, change),
    deleteUser: (id: string) => deleteUser(desk(), id),
    /** A one-time sign-in link for a known user. */
    createLoginLink: (email: string) => createOperatorLink(desk(), email),
    /** True if it made the first operator. */
    ensureOperator: () => ensureOperator(desk()),
    listProjects: (q?: string) => listAllProjects(desk(), q),
    changeProject: (id: string, change: ProjectChange) => changeProject(desk(), id, change),
    deleteProject: (id: string) => removeProject(desk(), id),
    listTunnels: (q?: string) => listAllTunnels(desk(), q),
    changeTunnel: (id: string, change: { readonly suspended: boolean }) => changeTunnel(desk(), id, change),
    listRegions: () => listOperatorRegions(desk()),
    createRegion: (region: NewRegion) => createRegion(desk(), region),
    changeRegion: (name: string, change: RegionChange) => changeRegion(desk(), name, change),
    deleteRegion: (name: string) => deleteRegion(desk(), name),
    createRegionKey: (name: string) => createRegionKey(desk(), name),
    ensureRegion: (region: NewRegion) => ensureRegion(desk(), region),
    listAbuseReports: (state?: string) => listAbuseReports(desk(), state),
    changeAbuseReport: (id: string, state: string) => changeAbuseReport(desk(), id, state),
    /** Seals every tunnel token with the newest key. Answers how many changed. */
    resealTunnelTokens: () => resealTunnelTokens(deps.store.db, deps.keyRing),
  };
};

export type OperatorDesk = ReturnType<typeof createOperatorDesk>;
