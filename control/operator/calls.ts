// The calls of the operator pages. The commands of underpass-server use the same functions.

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
import { answerPersonalFile } from '../people/account/export.ts';
import type { CallContext, Handlers } from '../request/caller/call.ts';
import { answerPage } from '../request/http/page.ts';
import { orInvalid } from '../request/http/refusal.ts';
import { type AbuseDeps, changeAbuseReport, listAbuseReports, reportAbuse } from './abuse-reports.ts';
import type { ActingOperator, OperatorNeeds } from './actor.ts';
import { createBlock, deleteBlock, importBlocks, listBlocks } from './blocks.ts';
import { changePasskeyRule, readPasskeyRule, removeUserPasskeys } from './passkeys.ts';
import { changeProject, listAllProjects } from './projects.ts';
import { changeRegion, createRegion, createRegionKey, deleteRegion, listOperatorRegions } from './regions.ts';
import { approve, listRegistrations, reject } from './registrations.ts';
import { readServiceOverview, type ServiceDeps } from './service-overview.ts';
import { createSubscription, deleteSubscription, importSubscriptions, listSubscriptions } from './subscriptions.ts';
import { changeTunnel, listAllTunnels } from './tunnels.ts';
import { changeUser, exportUser, listUsers, readUserReach } from './users.ts';

interface OperatorDeps extends OperatorNeeds, AbuseDeps, Pick<ServiceDeps, 'readStatus'> {
  readonly feed: OperatorNeeds['feed'] & Pick<FeedPort, 'clientCount' | 'edges'>;
}

/** Only the calls: edges report clients to the server's process, which a command is not. */
const withClients =
  ({ feed }: OperatorDeps) =>
  (tunnel: OperatorTunnel): OperatorTunnel => ({ ...tunnel, connectedClients: feed.clientCount(tunnel.id) });

/** Who sends no limit knows only the first version's pages: newest first, `before` is the last id of the previous one. */
const askedOf = ({ before, limit, ...asked }: AskedList): AskedList =>
  limit === undefined ? { ...asked, after: before, limit: String(limits.operatorPageRows) } : { ...asked, before, limit };

type Request = Pick<CallContext<'listUsers'>, 'caller' | 'address' | 'nowMs'>;

export function createOperatorCalls(deps: OperatorDeps) {
  const operatorOf = ({ caller, address, nowMs }: Request): ActingOperator => ({ deps, by: caller.email, address, nowMs });
  const list =
    <Context extends Request & Pick<CallContext<'listUsers'>, 'request'> & { readonly query: AskedList }>(
      rules: ListRules,
      read: (operator: ActingOperator, query: ListQuery, context: Context) => Promise<ListPage<unknown>>,
    ) =>
    async (context: Context): Promise<Response> =>
      answerPage(
        context.request,
        await read(operatorOf(context), orInvalid(parseListQuery(askedOf(context.query), rules)), context),
      );
  return {
    listRegistrations: list(registrationList, (operator, query, context: CallContext<'listRegistrations'>) =>
      listRegistrations(operator, context.query, query),
    ),
    approveRegistration: (context) => approve(operatorOf(context), context.segments.id),
    rejectRegistration: (context) => reject(operatorOf(context), context.segments.id),
    listSubscriptions: list(subscriptionList, listSubscriptions),
    createSubscription: (context) => createSubscription(operatorOf(context), context.body.email, context.body.expiresAt),
    deleteSubscription: (context) => deleteSubscription(operatorOf(context), context.segments.id),
    importSubscriptions: (context) => importSubscriptions(operatorOf(context), context.body),
    listUsers: list(userList, listUsers),
    changeUser: (context) => changeUser(operatorOf(context), context.segments.id, context.body),
    exportUser: async (context) => answerPersonalFile(deps.store.db, await exportUser(operatorOf(context), context.segments.id)),
    getUserReach: (context) => readUserReach(operatorOf(context), context.segments.id),
    removeUserPasskeys: async (context) => void (await removeUserPasskeys(operatorOf(context), context.segments.id)),
    getPasskeyRule: (context) => readPasskeyRule(operatorOf(context)),
    changePasskeyRule: (context) => changePasskeyRule(operatorOf(context), context.caller, context.body.required),
    listAllProjects: list(projectList, listAllProjects),
    changeProject: (context) => changeProject(operatorOf(context), context.segments.id, context.body),
    listAllTunnels: list(allTunnelList, async (operator, query) => {
      const page = await listAllTunnels(operator, query);
      return { ...page, rows: page.rows.map(withClients(deps)) };
    }),
    changeTunnel: async (context) =>
      withClients(deps)(await changeTunnel(operatorOf(context), context.segments.id, context.body)),
    listOperatorRegions: (context) => listOperatorRegions(operatorOf(context)),
    createRegion: (context) => createRegion(operatorOf(context), context.body),
    changeRegion: (context) => changeRegion(operatorOf(context), context.segments.name, context.body),
    deleteRegion: (context) => deleteRegion(operatorOf(context), context.segments.name),
    createRegionKey: (context) => createRegionKey(operatorOf(context), context.segments.name),
    getServiceOverview: (context) => readServiceOverview(operatorOf(context), deps),
    listEdges: async () => deps.feed.edges(),
    listBlocks: list(blockList, listBlocks),
    createBlock: (context) => createBlock(operatorOf(context), context.body.value, context.body.reason),
    deleteBlock: async (context) => void (await deleteBlock(operatorOf(context), context.segments.id)),
    importBlocks: (context) => importBlocks(operatorOf(context), context.body),
    listAbuseReports: list(abuseReportList, (operator, query, context: CallContext<'listAbuseReports'>) =>
      listAbuseReports(operator, context.query.state, query),
    ),
    changeAbuseReport: (context) => changeAbuseReport(operatorOf(context), context.segments.id, context.body.state),
    reportAbuse: (context) => reportAbuse(deps, context),
  } satisfies Partial<Handlers>;
}
