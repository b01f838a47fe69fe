// The shapes of the calls beyond the spec, as they travel in JSON. Times are ISO 8601, UTC.
// The entities of the spec are in entity.ts.

import type { Project, Role, TunnelMetrics, TunnelStatus, TunnelType } from './entity.ts';
import type { ProjectQuotas } from './limits.ts';

export interface Meta {
  readonly version: string;
  readonly origin: string;
  readonly operator: OperatorIdentity;
}

/** Who runs this service: for the legal pages and the footer. */
export interface OperatorIdentity {
  /** The company, such as `Underpass Ltd`. */
  readonly name: string;
  /** Where people write about the service and their data. */
  readonly email: string;
  readonly address?: string;
  readonly companyNumber?: string;
}

export interface LoginLinkCheck {
  readonly sameBrowser: boolean;
}

export type BotCheck =
  | { readonly kind: 'altcha'; readonly challengeUrl: string }
  | { readonly kind: 'turnstile'; readonly siteKey: string };

export interface Member {
  readonly id: string;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly role: Role;
  readonly since: string;
  readonly isSelf: boolean;
}

export interface Invitation {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly invitedBy: string;
  readonly createdAt: string;
  readonly expiresAt: string;
}

/** An invitation as the invited person sees it. */
export interface InvitationOffer {
  readonly projectName: string;
  /** An e-mail. */
  readonly invitedBy: string;
  readonly role: Role;
}

export interface Session {
  readonly id: string;
  readonly address: string;
  readonly userAgent: string;
  readonly createdAt: string;
  readonly seenAt: string;
  readonly isCurrent: boolean;
}

export interface ApiToken {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly createdBy: string;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly usedAt: string | null;
}

/** Answered once, at creation: afterwards only a hash of the token exists. */
export interface NewApiToken extends ApiToken {
  readonly token: string;
}

export interface AuditEntry {
  readonly id: string;
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly address: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** The next page's `before`; null on the last. */
  readonly next: string | null;
}

export interface ConnectedClient {
  readonly id: string;
  readonly address: string;
  readonly version: string;
  readonly since: string;
  readonly edge: string;
  readonly rttMs: number | null;
  readonly healthy: boolean;
}

export type HistoryRange = 'hour' | 'day' | 'week';

export interface TunnelHistory {
  readonly stepSeconds: number;
  readonly points: readonly HistoryPoint[];
}

export interface HistoryPoint extends TunnelMetrics {
  readonly at: string;
  readonly clients: number;
}

/** Data of a `tunnel` event on the event stream. */
export interface TunnelEvent {
  readonly name: string;
  readonly status: string;
  readonly connectedClients: number;
  readonly metrics?: TunnelMetrics;
}

export interface DeviceStart {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly verificationUrl: string;
  readonly expiresIn: number;
  readonly interval: number;
}

export interface DeviceToken {
  readonly token: string;
  readonly email: string;
  readonly projects: readonly Project[];
}

export interface Device {
  readonly name: string;
  readonly address: string;
  readonly createdAt: string;
}

export interface Release {
  readonly version: string;
  readonly files: readonly ReleaseFile[];
}

export interface ReleaseFile {
  readonly name: string;
  readonly platform: string;
  readonly size: number;
  readonly sha256: string;
  readonly url: string;
}

export type RegistrationState = 'waiting' | 'approved' | 'rejected';

export interface OperatorRegistration {
  readonly id: string;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly company: string;
  readonly github: string;
  readonly x: string;
  readonly state: RegistrationState;
  /** An active subscription of this e-mail was found. */
  readonly isSubscribed: boolean;
  readonly createdAt: string;
  readonly decidedAt: string | null;
  readonly decidedBy: string | null;
}

export interface Subscription {
  readonly id: string;
  readonly email: string;
  readonly source: 'operator' | 'import' | 'webhook';
  readonly active: boolean;
  readonly expiresAt: string | null;
  readonly updatedAt: string;
}

export interface SubscriptionImport {
  readonly imported: number;
  /** Lines that were passed over, such as `line 3: Not a valid email address.` */
  readonly problems?: readonly string[];
}

export interface OperatorUser {
  readonly id: string;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly operator: boolean;
  readonly suspended: boolean;
  readonly createdAt: string;
}

export interface OperatorProject {
  readonly id: string;
  readonly name: string;
  readonly owners: readonly string[];
  readonly suspended: boolean;
  readonly limits: ProjectQuotas;
  readonly tunnels: number;
  readonly createdAt: string;
}

export interface OperatorTunnel {
  readonly id: string;
  readonly name: string;
  readonly project: Pick<Project, 'id' | 'name'>;
  readonly type: TunnelType;
  readonly region: string;
  readonly status: TunnelStatus;
  /** Missing where it is not known: commands of underpass-server hear of no client. */
  readonly connectedClients?: number;
  readonly ingressDomains: readonly string[];
  readonly suspended: boolean;
}

export interface OperatorRegion {
  readonly name: string;
  readonly description: string;
  readonly available: boolean;
  readonly tlsTermination: boolean;
  readonly wildcardIngressDomain?: string;
  readonly dataPlaneHost: string;
  readonly httpsPort: number;
  readonly httpPort: number;
  readonly tunnels: number;
  /** Why the host or the wildcard of the region has no new certificate, while that is so. */
  readonly certificateProblem?: string;
}

/** Answered once, when a region's key is made. */
export interface RegionKey {
  readonly key: string;
}

export interface EdgeHealth {
  readonly id: string;
  readonly region: string;
  readonly version: string;
  readonly connected: boolean;
  readonly since: string;
  readonly lastSeenAt: string;
  readonly acknowledged: boolean;
  readonly clients: number;
}

export interface AbuseReport {
  readonly id: string;
  readonly host: string;
  readonly email: string;
  readonly text: string;
  readonly state: 'open' | 'closed';
  readonly createdAt: string;
}
