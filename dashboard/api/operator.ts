// The calls of the operator pages (User.operator).
import type { ProjectQuotas } from '@underpass/rules/limits.ts';
import type {
  AbuseReport,
  AuditPage,
  EdgeHealth,
  OperatorProject,
  OperatorRegion,
  OperatorRegistration,
  OperatorTunnel,
  OperatorUser,
  RegionKey,
  RegistrationState,
  Subscription,
  SubscriptionImport,
} from '@underpass/rules/resource.ts';
import type { AuditFilter } from './audit.ts';
import { request } from './request.ts';

const at = (list: string, id: string, rest = '') => `/api/operator/${list}/${encodeURIComponent(id)}${rest}`;

export const listRegistrations = (state: RegistrationState, before: string | undefined, signal?: AbortSignal) =>
  request<OperatorRegistration[]>('GET', '/api/operator/registrations', { query: { state, before }, signal });

export const approveRegistration = (id: string) => request<OperatorRegistration>('POST', at('registrations', id, '/approve'));

export const rejectRegistration = (id: string) => request<OperatorRegistration>('POST', at('registrations', id, '/reject'));

export const listSubscriptions = (signal?: AbortSignal) =>
  request<Subscription[]>('GET', '/api/operator/subscriptions', { signal });

export const createSubscription = (email: string, expiresAt: string | undefined) =>
  request<Subscription>('POST', '/api/operator/subscriptions', { json: { email, ...(expiresAt ? { expiresAt } : {}) } });

export const deleteSubscription = (id: string) => request<void>('DELETE', at('subscriptions', id));

export const importSubscriptions = (csv: string) =>
  request<SubscriptionImport>('POST', '/api/operator/subscriptions/import', {
    text: { type: 'text/csv', body: csv },
  });

export const listUsers = (q: string | undefined, before: string | undefined, signal?: AbortSignal) =>
  request<OperatorUser[]>('GET', '/api/operator/users', { query: { q, before }, signal });

export const changeUser = (id: string, change: { readonly suspended?: boolean; readonly operator?: boolean }) =>
  request<OperatorUser>('PATCH', at('users', id), { json: change });

export const listAllProjects = (q: string | undefined, before: string | undefined, signal?: AbortSignal) =>
  request<OperatorProject[]>('GET', '/api/operator/projects', { query: { q, before }, signal });

export const changeProject = (id: string, change: { readonly suspended?: boolean; readonly limits?: Partial<ProjectQuotas> }) =>
  request<OperatorProject>('PATCH', at('projects', id), { json: change });

export const listAllTunnels = (q: string | undefined, before: string | undefined, signal?: AbortSignal) =>
  request<OperatorTunnel[]>('GET', '/api/operator/tunnels', { query: { q, before }, signal });

export const changeTunnel = (id: string, suspended: boolean) =>
  request<OperatorTunnel>('PATCH', at('tunnels', id), { json: { suspended } });

export const listOperatorRegions = (signal?: AbortSignal) =>
  request<OperatorRegion[]>('GET', '/api/operator/regions', { signal });

export interface NewRegion {
  readonly name: string;
  readonly description: string;
  readonly dataPlaneHost: string;
  readonly tlsTermination: boolean;
  readonly wildcardIngressDomain?: string;
}

export const createRegion = (region: NewRegion) => request<OperatorRegion>('POST', '/api/operator/regions', { json: region });

export interface RegionChange {
  readonly description?: string;
  readonly available?: boolean;
  readonly wildcardIngressDomain?: string;
}

export const changeRegion = (name: string, change: RegionChange) =>
  request<OperatorRegion>('PATCH', at('regions', name), { json: change });

export const deleteRegion = (name: string) => request<void>('DELETE', at('regions', name));

export const createRegionKey = (name: string) => request<RegionKey>('POST', at('regions', name, '/key'));

export const listEdges = (signal?: AbortSignal) => request<EdgeHealth[]>('GET', '/api/operator/edges', { signal });

export const listAbuseReports = (state: AbuseReport['state'], before: string | undefined, signal?: AbortSignal) =>
  request<AbuseReport[]>('GET', '/api/operator/abuse-reports', { query: { state, before }, signal });

export const changeAbuseReport = (id: string, state: AbuseReport['state']) =>
  request<AbuseReport>('PATCH', at('abuse-reports', id), { json: { state } });

/** What concerns no project; the rest is as in a project's log. */
export const listServiceAudit = (filter: AuditFilter, before?: string, signal?: AbortSignal) =>
  request<AuditPage>('GET', '/api/operator/audit', { query: { ...filter, before }, signal });
