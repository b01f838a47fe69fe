// The calls of the operator pages. The commands of underpass-server use the same functions.

import type { operatorCalls as table } from '@underpass/rules/api/operator-calls.ts';
import type { OperatorTunnel } from '@underpass/rules/entity/resource.ts';
import { limits } from '@underpass/rules/limits.ts';
import type { FeedPort } from '../edges/feed/port.ts';
import type { AuditCalls } from '../people/audit/calls.ts';
import type { CallContext, Handlers } from '../request/caller/call.ts';
import { type AbuseDeps, changeAbuseReport, listAbuseReports, reportAbuse } from './abuse-reports.ts';
import type { AskedPage, Desk, DeskDeps } from './actor.ts';
import { createBlock, deleteBlock, importBlocks, listBlocks } from './blocks.ts';
import { changePasskeyRule, readPasskeyRule, removeUserPasskeys } from './passkeys.ts';
import { changeProject, listAllProjects } from './projects.ts';
import { changeRegion, createRegion, createRegionKey, deleteRegion, listOperatorRegions } from './regions.ts';
import { approve, listRegistrations, reject } from './registrations.ts';
import { createSubscription, deleteSubscription, importSubscriptions, listSubscriptions } from './subscriptions.ts';
import { changeTunnel, listAllTunnels } from './tunnels.ts';
import { changeUser, listUsers } from './users.ts';

export interface OperatorDeps extends DeskDeps, AbuseDeps {
  readonly feed: DeskDeps['feed'] & Pick<FeedPort, 'clientCount' | 'edges'>;
}

/** Only the calls: edges report clients to the server's process, which a command is not. */
const withClients =
  ({ feed }: OperatorDeps) =>
  (tunnel: OperatorTunnel): OperatorTunnel => ({ ...tunnel, connectedClients: feed.clientCount(tunnel.id) });

const pageOf = ({ query }: { readonly query: AskedPage }): AskedPage => ({ before: query.before, rows: limits.operatorPageRows });

type Request = Pick<CallContext<'listUsers'>, 'caller' | 'address' | 'nowMs'>;

export function createOperatorCalls(deps: OperatorDeps): Handlers<Exclude<keyof typeof table, AuditCalls> | 'reportAbuse'> {
  const deskOf = ({ caller, address, nowMs }: Request): Desk => ({ deps, by: caller.email, address, nowMs });
  return {
    listRegistrations: (context) => listRegistrations(deskOf(context), context.query, pageOf(context)),
    approveRegistration: (context) => approve(deskOf(context), context.segments.id),
    rejectRegistration: (context) => reject(deskOf(context), context.segments.id),
    listSubscriptions: (context) => listSubscriptions(deskOf(context), context.query.q, pageOf(context)),
    createSubscription: (context) => createSubscription(deskOf(context), context.body.email, context.body.expiresAt),
    deleteSubscription: (context) => deleteSubscription(deskOf(context), context.segments.id),
    importSubscriptions: (context) => importSubscriptions(deskOf(context), context.body),
    listUsers: (context) => listUsers(deskOf(context), context.query.q, pageOf(context)),
    changeUser: (context) => changeUser(deskOf(context), context.segments.id, context.body),
    removeUserPasskeys: async (context) => void (await removeUserPasskeys(deskOf(context), context.segments.id)),
    getPasskeyRule: (context) => readPasskeyRule(deskOf(context)),
    changePasskeyRule: (context) => changePasskeyRule(deskOf(context), context.caller, context.body.required),
    listAllProjects: (context) => listAllProjects(deskOf(context), context.query.q, pageOf(context)),
    changeProject: (context) => changeProject(deskOf(context), context.segments.id, context.body),
    listAllTunnels: async (context) =>
      (await listAllTunnels(deskOf(context), context.query.q, pageOf(context))).map(withClients(deps)),
    changeTunnel: async (context) => withClients(deps)(await changeTunnel(deskOf(context), context.segments.id, context.body)),
    listOperatorRegions: (context) => listOperatorRegions(deskOf(context)),
    createRegion: (context) => createRegion(deskOf(context), context.body),
    changeRegion: (context) => changeRegion(deskOf(context), context.segments.name, context.body),
    deleteRegion: (context) => deleteRegion(deskOf(context), context.segments.name),
    createRegionKey: (context) => createRegionKey(deskOf(context), context.segments.name),
    listEdges: async () => deps.feed.edges(),
    listBlocks: (context) => listBlocks(deskOf(context), context.query.q, pageOf(context)),
    createBlock: (context) => createBlock(deskOf(context), context.body.value, context.body.reason),
    deleteBlock: async (context) => void (await deleteBlock(deskOf(context), context.segments.id)),
    importBlocks: (context) => importBlocks(deskOf(context), context.body),
    listAbuseReports: (context) => listAbuseReports(deskOf(context), context.query.state, pageOf(context)),
    changeAbuseReport: (context) => changeAbuseReport(deskOf(context), context.segments.id, context.body.state),
    reportAbuse: (context) => reportAbuse(deps, context),
  };
}
