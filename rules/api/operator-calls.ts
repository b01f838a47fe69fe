// The calls about the operator pages, for people who run the service (User.operator).

import type { Call } from './call.ts';

const operator = { who: 'operator', needs: 'session' } as const;
const proven = { who: 'operator', needs: 'fresh' } as const;
const list = { method: 'GET', ...operator, paged: true, compress: true } as const;

export const operatorCalls = {
  /** How the service stands: what the operators' first screen shows, in one call. */
  getServiceOverview: { ...operator, method: 'GET', path: '/api/operator/overview', answer: 'ServiceOverview', compress: true },
  listRegistrations: {
    ...list,
    path: '/api/operator/registrations',
    query: 'RegistrationQuery',
    answer: 'OperatorRegistration[]',
  },
  approveRegistration: {
    ...proven,
    method: 'POST',
    path: '/api/operator/registrations/:id/approve',
    answer: 'OperatorRegistration',
  },
  rejectRegistration: {
    ...operator,
    method: 'POST',
    path: '/api/operator/registrations/:id/reject',
    answer: 'OperatorRegistration',
  },
  listSubscriptions: { ...list, path: '/api/operator/subscriptions', query: 'SubscriptionListQuery', answer: 'Subscription[]' },
  /** Gives no access by itself: an operator still approves the registration. */
  createSubscription: {
    ...operator,
    method: 'POST',
    path: '/api/operator/subscriptions',
    json: 'NewSubscription',
    answer: 'Subscription',
  },
  deleteSubscription: { ...operator, method: 'DELETE', path: '/api/operator/subscriptions/:id' },
  importSubscriptions: {
    ...operator,
    method: 'POST',
    path: '/api/operator/subscriptions/import',
    csv: true,
    answer: 'SubscriptionImport',
  },
  listUsers: { ...list, path: '/api/operator/users', query: 'UserListQuery', answer: 'OperatorUser[]' },
  changeUser: { ...proven, method: 'PATCH', path: '/api/operator/users/:id', json: 'UserChange', answer: 'OperatorUser' },
  /** The file that the user could download: for one who asks by mail. */
  exportUser: { ...proven, method: 'POST', path: '/api/operator/users/:id/export', answer: 'AccountExport' },
  /** What stops while the user is suspended. */
  getUserReach: { ...operator, method: 'GET', path: '/api/operator/users/:id/reach', answer: 'UserReach' },
  /** Removes them, and the recovery codes, of a user who has lost theirs: they sign in by e-mail and add a new one. */
  removeUserPasskeys: { ...proven, method: 'DELETE', path: '/api/operator/users/:id/passkeys' },
  /** Whether operators need a passkey. */
  getPasskeyRule: { ...operator, method: 'GET', path: '/api/operator/passkeys', answer: 'PasskeyRule' },
  changePasskeyRule: {
    ...proven,
    method: 'PATCH',
    path: '/api/operator/passkeys',
    json: 'PasskeyRuleChange',
    answer: 'PasskeyRule',
  },
  listAllProjects: { ...list, path: '/api/operator/projects', query: 'ProjectListQuery', answer: 'OperatorProject[]' },
  changeProject: {
    ...operator,
    method: 'PATCH',
    path: '/api/operator/projects/:id',
    json: 'ProjectChange',
    answer: 'OperatorProject',
  },
  listAllTunnels: { ...list, path: '/api/operator/tunnels', query: 'AllTunnelListQuery', answer: 'OperatorTunnel[]' },
  changeTunnel: {
    ...operator,
    method: 'PATCH',
    path: '/api/operator/tunnels/:id',
    json: 'TunnelSuspension',
    answer: 'OperatorTunnel',
  },
  listOperatorRegions: { ...operator, method: 'GET', path: '/api/operator/regions', answer: 'OperatorRegion[]' },
  createRegion: { ...operator, method: 'POST', path: '/api/operator/regions', json: 'NewRegion', answer: 'OperatorRegion' },
  changeRegion: {
    ...operator,
    method: 'PATCH',
    path: '/api/operator/regions/:name',
    json: 'RegionChange',
    answer: 'OperatorRegion',
  },
  deleteRegion: { ...operator, method: 'DELETE', path: '/api/operator/regions/:name' },
  createRegionKey: { ...proven, method: 'POST', path: '/api/operator/regions/:name/key', answer: 'RegionKey' },
  listEdges: { ...operator, method: 'GET', path: '/api/operator/edges', answer: 'EdgeHealth[]', compress: true },
  /** Addresses, networks and names that the whole service refuses. */
  listBlocks: { ...list, path: '/api/operator/blocks', query: 'BlockListQuery', answer: 'Block[]' },
  createBlock: { ...operator, method: 'POST', path: '/api/operator/blocks', json: 'NewBlock', answer: 'Block' },
  deleteBlock: { ...operator, method: 'DELETE', path: '/api/operator/blocks/:id' },
  /** Lines of a value and a reason. */
  importBlocks: { ...operator, method: 'POST', path: '/api/operator/blocks/import', csv: true, answer: 'BlockImport' },
  listAbuseReports: { ...list, path: '/api/operator/abuse-reports', query: 'AbuseReportQuery', answer: 'AbuseReport[]' },
  /** Events that concern no project: sessions, people, subscriptions, regions. */
  listServiceAudit: {
    ...operator,
    method: 'GET',
    path: '/api/operator/audit',
    query: 'ServiceAuditQuery',
    answer: 'AuditPage',
    compress: true,
  },
  changeAbuseReport: {
    ...operator,
    method: 'PATCH',
    path: '/api/operator/abuse-reports/:id',
    json: 'AbuseReportChange',
    answer: 'AbuseReport',
  },
} as const satisfies Readonly<Record<string, Call>>;
