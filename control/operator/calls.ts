// The calls of the operator pages. The commands of underpass-server use the same functions.

import type { operatorCalls as table } from '@underpass/rules/api/operator-calls.ts';
import type { OperatorTunnel } from '@underpass/rules/entity/resource.ts';
import { limits } from '@underpass/rules/limits.ts';
import {
  type AskedList,
  abuseReportList,
  allTunnelList,
  blockList,
  type ListPage,
  type ListQuery,
  type ListRules,
  parseListQuery,
  projectList,
  registrationList,
  subscriptionList,
  userList,
} from '@underpass/rules/list/list-page.ts';
import type { FeedPort } from '../edges/feed/port.ts';
import type { AuditCalls } from '../people/audit/calls.ts';
import type { CallContext, Handlers } from '../request/caller/call.ts';
import { answerPage } from '../request/http/page.ts';
import { orInvalid } from '../request/http/refusal.ts';
import { type AbuseDeps, changeAbuseReport, listAbuseReports, reportAbuse } from './abuse-reports.ts';
import type { Desk, DeskDeps } from './actor.ts';
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

/** Who sends no limit knows only the first version's pages: newest first, `before` is the last id of the previous one. */
const askedOf = ({ before, limit, ...asked }: AskedList): AskedList =>
  limit === undefined ? { ...asked, after: before, limit: String(limits.operatorPageRows) } : { ...asked, before, limit };

type Request = Pick<CallContext<'listUsers'>, 'caller' | 'address' | 'nowMs'>;

export function createOperatorCalls(deps: OperatorDeps): Handlers<Exclude<keyof typeof table, AuditCalls> | 'reportAbuse'> {
  const deskOf = ({ caller, address, nowMs }: Request): Desk => ({ deps, by: caller.email, address, nowMs });
  const list =
    <Context extends Request & Pick<CallContext<'listUsers'>, 'request'> & { readonly query: AskedList }>(
      rules: ListRules,
      read: (desk: Desk, query: ListQuery, context: Context) => Promise<ListPage<unknown>>,
    ) =>
    async (context: Context): Promise<Response> =>
      answerPage(context.request, await read(deskOf(context), orInvalid(parseListQuery(askedOf(context.query), rules)), context));
  return {
    listRegistrations: list(registrationList, (desk, query, context: CallContext<'listRegistrations'>) =>
      listRegistrations(desk, context.query, query),
    ),
    approveRegistration: (context) => approve(deskOf(context), context.segments.id),
    rejectRegistration: (context) => reject(deskOf(context), context.segments.id),
    listSubscriptions: list(subscriptionList, listSubscriptions),
    createSubscription: (context) => createSubscription(deskOf(context), context.body.email, context.body.expiresAt),
    deleteSubscription: (context) => deleteSubscription(deskOf(context), context.segments.id),
    importSubscriptions: (context) => importSubscriptions(deskOf(context), context.body),
    listUsers: list(userList, listUsers),
    changeUser: (context) => changeUser(deskOf(context), context.segments.id, context.body),
    removeUserPasskeys: async (context) => void (await removeUserPasskeys(deskOf(context), context.segments.id)),
    getPasskeyRule: (context) => readPasskeyRule(deskOf(context)),
    changePasskeyRule: (context) => changePasskeyRule(deskOf(context), context.caller, context.body.required),
    listAllProjects: list(projectList, listAllProjects),
    changeProject: (context) => changeProject(deskOf(context), context.segments.id, context.body),
    listAllTunnels: list(allTunnelList, async (desk, query) => {
      const page = await listAllTunnels(desk, query);
      return { ...page, rows: page.rows.map(withClients(deps)) };
    }),
    changeTunnel: async (context) => withClients(deps)(await changeTunnel(deskOf(context), context.segments.id, context.body)),
    listOperatorRegions: (context) => listOperatorRegions(deskOf(context)),
    createRegion: (context) => createRegion(deskOf(context), context.body),
    changeRegion: (context) => changeRegion(deskOf(context), context.segments.name, context.body),
    deleteRegion: (context) => deleteRegion(deskOf(context), context.segments.name),
    createRegionKey: (context) => createRegionKey(deskOf(context), context.segments.name),
    listEdges: async () => deps.feed.edges(),
    listBlocks: list(blockList, listBlocks),
    createBlock: (context) => createBlock(deskOf(context), context.body.value, context.body.reason),
    deleteBlock: async (context) => void (await deleteBlock(deskOf(context), context.segments.id)),
    importBlocks: (context) => importBlocks(deskOf(context), context.body),
    listAbuseReports: list(abuseReportList, (desk, query, context: CallContext<'listAbuseReports'>) =>
      listAbuseReports(desk, context.query.state, query),
    ),
    changeAbuseReport: (context) => changeAbuseReport(deskOf(context), context.segments.id, context.body.state),
    reportAbuse: (context) => reportAbuse(deps, context),
  };
}
