// The calls of the operator pages. Each is one of the functions that underpass-server's commands use as well.

import type { operatorCalls as table } from '@underpass/rules/calls.ts';
import type { OperatorTunnel } from '@underpass/rules/resource.ts';
import type { CallContext, Handlers } from '../access/call.ts';
import type { auditCalls } from '../audit/calls.ts';
import type { Parts } from '../parts.ts';
import { changeAbuseReport, listAbuseReports } from './abuse-reports.ts';
import type { Desk } from './actor.ts';
import { changeProject, listAllProjects } from './projects.ts';
import { changeRegion, createRegion, createRegionKey, deleteRegion, listOperatorRegions } from './regions.ts';
import { approve, listRegistrations, reject } from './registrations.ts';
import { createSubscription, deleteSubscription, importSubscriptions, listSubscriptions } from './subscriptions.ts';
import { changeTunnel, listAllTunnels } from './tunnels.ts';
import { changeUser, listUsers } from './users.ts';

const deskOf = ({
  deps,
  caller,
  address,
  nowMs,
}: Pick<CallContext<'listUsers'>, 'deps' | 'caller' | 'address' | 'nowMs'>): Desk => ({
  parts: deps,
  by: caller.email,
  address,
  nowMs,
});

/** Here alone: edges tell the server, not a command at the machine. */
const withClients =
  ({ feed }: Parts) =>
  (tunnel: OperatorTunnel): OperatorTunnel => ({ ...tunnel, connectedClients: feed.clients(tunnel.id).length });

export const operatorCalls: Handlers<Exclude<keyof typeof table, keyof typeof auditCalls>> = {
  listRegistrations: (context) => listRegistrations(deskOf(context), context.query.state, context.query.before),
  approveRegistration: (context) => approve(deskOf(context), context.segments.id),
  rejectRegistration: (context) => reject(deskOf(context), context.segments.id),
  listSubscriptions: (context) => listSubscriptions(deskOf(context)),
  createSubscription: (context) => createSubscription(deskOf(context), context.body.email, context.body.expiresAt),
  deleteSubscription: (context) => deleteSubscription(deskOf(context), context.segments.id),
  importSubscriptions: (context) => importSubscriptions(deskOf(context), context.body),
  listUsers: (context) => listUsers(deskOf(context), context.query.q, context.query.before),
  changeUser: (context) => changeUser(deskOf(context), context.segments.id, context.body),
  listAllProjects: (context) => listAllProjects(deskOf(context), context.query.q, context.query.before),
  changeProject: (context) => changeProject(deskOf(context), context.segments.id, context.body),
  listAllTunnels: async (context) =>
    (await listAllTunnels(deskOf(context), context.query.q, context.query.before)).map(withClients(context.deps)),
  changeTunnel: async (context) =>
    withClients(context.deps)(await changeTunnel(deskOf(context), context.segments.id, context.body)),
  listOperatorRegions: (context) => listOperatorRegions(deskOf(context)),
  createRegion: (context) => createRegion(deskOf(context), context.body),
  changeRegion: (context) => changeRegion(deskOf(context), context.segments.name, context.body),
  deleteRegion: (context) => deleteRegion(deskOf(context), context.segments.name),
  createRegionKey: (context) => createRegionKey(deskOf(context), context.segments.name),
  listEdges: async ({ deps }) => deps.feed.edges(),
  listAbuseReports: (context) => listAbuseReports(deskOf(context), context.query.state, context.query.before),
  changeAbuseReport: (context) => changeAbuseReport(deskOf(context), context.segments.id, context.body.state),
};
