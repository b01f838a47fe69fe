// The query parameters of the calls.

import { z } from 'zod';
import { Role } from '../entity/entity.ts';
import { AbuseReportState, HistoryRange, RegistrationState } from '../entity/resource.ts';
import { textField, wordField } from '../entity/schema.ts';
import {
  abuseReportList,
  accessPolicyList,
  allTunnelList,
  blockList,
  domainList,
  type ListRules,
  pageMostRows,
  projectList,
  registrationList,
  searchMostChars,
  securityGroupList,
  subscriptionList,
  tunnelList,
  userList,
} from '../list/list-page.ts';
import { isoTime } from '../text/date.ts';
import { visitorLogFilters } from '../tunnel/visitor-log.ts';

const project = textField({ description: "A project's id." });
/** Pages of a log, whose newest entries come first: `before` is the `next` of a page, and `after` its `previous`. */
const logQuery = {
  q: textField({ description: 'Words that an entry must contain.', maxLength: searchMostChars }).optional(),
  before: textField({ description: 'The answer begins behind this entry.' }).optional(),
  after: textField({ description: 'The answer ends before this entry, or is the newest page.' }).optional(),
};
const time = { description: 'A date or a time, in ISO 8601.', pattern: isoTime.source };
const auditFilter = {
  ...logQuery,
  action: textField({ description: "An action such as 'tunnel.create', or nouns with commas between them." }).optional(),
  actor: textField().optional(),
  by: textField({
    description: "'api-token', or 'api-token:' and the name of one.",
    pattern: '^api-token(:[\\s\\S]*)?$',
  }).optional(),
  from: textField(time).optional(),
  to: textField(time).optional(),
};

/** `after` and `before` are in the `Link` of another page; without `limit` the answer is the whole list, by default in the order of creation. */
const pageQuery = ({ sorts }: ListRules) => ({
  q: textField({ description: 'Words that a row must contain.', maxLength: searchMostChars }).optional(),
  sort: textField({ enum: sorts.flatMap((name) => [name, `-${name}`]) }).optional(),
  after: textField({ description: 'The answer begins behind this entry.' }).optional(),
  before: textField({ description: 'The answer ends before this entry, or is the first page.' }).optional(),
  limit: textField({ description: `The most rows: 1 to ${pageMostRows}.`, pattern: '^([1-9][0-9]?|1[0-9]{2}|200)$' }).optional(),
});
const listQuery = (rules: ListRules) => ({ project, ...pageQuery(rules) });
const status = ({ statuses }: ListRules) => textField({ enum: statuses }).optional();

export const InProject = z.object({ project });
export const UsageQuery = z.object({ project, month: textField({ pattern: '^20\\d\\d-(0[1-9]|1[0-2])$' }).optional() });
export const TunnelListQuery = z.object({ ...listQuery(tunnelList), status: status(tunnelList) });
export const DomainListQuery = z.object({ ...listQuery(domainList), status: status(domainList) });
export const SecurityGroupListQuery = z.object(listQuery(securityGroupList));
export const AccessPolicyListQuery = z.object(listQuery(accessPolicyList));
export const AccessSignInQuery = z.object({ project, ...logQuery, policy: textField().optional() });
export const VisitorLogQuery = z.object({ project, ...logQuery, status: wordField(z.enum(visitorLogFilters)).optional() });
/** The project; absent: the only project of the caller that has the group. */
export const InProjectOrOnly = z.object({ project: project.optional() });
export const TunnelQuery = z.object({ project, metrics: wordField(z.enum(['1'])).optional() });
/** `overlap=0` ends the old token at once, for one that leaked. */
export const RotationQuery = z.object({ project, overlap: wordField(z.enum(['0'])).optional() });
/** `unkept=1` deletes the tunnel only while it has an expiry: somebody may have kept it. */
export const DeletionQuery = z.object({ project, unkept: wordField(z.enum(['1'])).optional() });
/** `host` answers for this ingress domain only, which may be a wildcard; `fresh=1` takes no answer from a moment ago. */
export const DomainsQuery = z.object({
  project,
  host: textField({ format: 'idn-hostname' }).optional(),
  fresh: wordField(z.enum(['1'])).optional(),
});
/**
 * `brief=1` is for a page that shows a part of many tunnels: the stream begins with one event for all of them, and tells only changes
 * of status and clients. It tells the metrics of `tunnel` too. `role` is the one that the page shows: another one is told at once.
 */
export const EventsQuery = z.object({
  project,
  brief: wordField(z.enum(['1'])).optional(),
  tunnel: textField().optional(),
  role: wordField(Role).optional(),
});
export const HistoryQuery = z.object({ project, range: wordField(HistoryRange) });
export const HostQuery = z.object({ host: textField({ format: 'idn-hostname' }) });
/** The page that the link leads to after the sign-in. One that is not allowed counts as none. */
export const LoginLinkQuery = z.object({ path: textField().optional() });
export const AuditQuery = z.object({ project, ...auditFilter });
export const ServiceAuditQuery = z.object(auditFilter);
/** Newest first without `sort`. Without `limit`, `before` is the last id of the previous page, as the first version had it. */
const operatorQuery = (rules: ListRules) => z.object({ ...pageQuery(rules), status: status(rules) });
export const RegistrationQuery = z.object({ ...pageQuery(registrationList), state: wordField(RegistrationState).optional() });
export const AbuseReportQuery = z.object({ ...pageQuery(abuseReportList), state: wordField(AbuseReportState).optional() });
export const SubscriptionListQuery = operatorQuery(subscriptionList);
export const UserListQuery = operatorQuery(userList);
export const ProjectListQuery = operatorQuery(projectList);
export const BlockListQuery = operatorQuery(blockList);
export const AllTunnelListQuery = operatorQuery(allTunnelList);
