// What the calls beyond the spec answer, as JSON: a schema each, and the type that follows from it.
// The entities of the spec are in entity.ts.

import { z } from 'zod';
import { projectQuotas, type QuotaName } from '../limits.ts';
import { dnsProviderNames } from '../names/dns-provider.ts';
import { userCodePattern } from '../people/device-code.ts';
import { type AlertKind, alertKinds } from '../tunnel/alert.ts';
import { type AttentionKind, attentionKinds } from '../tunnel/attention.ts';
import { type ClientErrorName, clientErrors } from '../tunnel/client-error.ts';
import { type ServiceKind, serviceKinds, serviceParts } from '../tunnel/service-attention.ts';
import { type TunnelCondition as ConditionName, tunnelConditions } from '../tunnel/tunnel-condition.ts';
import { deliveryStates, type WebhookFormat, webhookFormats } from '../tunnel/webhook.ts';
import { PortProblem, Project, Role, TunnelCondition, TunnelMetrics, TunnelStatus, TunnelType } from './entity.ts';
import {
  array,
  boolean,
  count,
  type Described,
  email,
  entity,
  hostname,
  maybe,
  nullable,
  path,
  rate,
  secret,
  string,
  time,
} from './schema.ts';

/** The company or person who runs this service: for the legal pages and the footer. */
export const OperatorIdentity = entity({
  /** The company, such as `Underpass Ltd`. */
  name: string(),
  /** Where people write about the service and their data. */
  email: email(),
  address: maybe(string()),
  companyNumber: maybe(string()),
});
export type OperatorIdentity = Described<typeof OperatorIdentity>;

export const Meta = entity({
  version: string(),
  origin: z.url(),
  operator: OperatorIdentity,
  /** Where operators read the mails of a trial, which sends none. */
  mailbox: path().optional(),
});
export type Meta = Described<typeof Meta>;

/** A link that is not `usable` is unknown, used or expired: nothing is lost if the page posts it at once. */
export const LoginLinkCheck = entity({ sameBrowser: boolean(), usable: boolean() });
export type LoginLinkCheck = Described<typeof LoginLinkCheck>;

export const BotCheck = z.union([
  entity({ kind: z.literal('altcha'), challengeUrl: path() }),
  entity({ kind: z.literal('turnstile'), siteKey: string() }),
]);
export type BotCheck = Described<typeof BotCheck>;

/** A challenge with ALTCHA's fields. */
export const BotChallenge = z.looseObject({});

export const Member = entity({
  id: string(),
  email: email(),
  firstName: string(),
  lastName: string(),
  role: Role,
  since: time(),
  isSelf: boolean(),
});
export type Member = Described<typeof Member>;

export const Invitation = entity({
  id: string(),
  email: email(),
  role: Role,
  /** An e-mail. */
  invitedBy: string(),
  createdAt: time(),
  expiresAt: time(),
});
export type Invitation = Described<typeof Invitation>;

const OpenOffer = entity({
  projectName: string(),
  /** An e-mail. */
  invitedBy: string(),
  /** The name that this person gave; empty without one. */
  inviterName: string(),
  role: Role,
  /** Whom it invites. */
  email: email(),
  /** The invitation approves the account of an invited person who registers; else an operator must. */
  approves: boolean(),
});
export type OpenOffer = Described<typeof OpenOffer>;
/** An invitation as the holder of its link sees it; once it is used, the project to which it leads its member. */
export const InvitationOffer = z.union([OpenOffer, entity({ joined: string() })]);
export type InvitationOffer = Described<typeof InvitationOffer>;

export const Session = entity({
  id: string(),
  address: string(),
  userAgent: string(),
  createdAt: time(),
  seenAt: time(),
  isCurrent: boolean(),
});
export type Session = Described<typeof Session>;

export const OwnAddress = entity({ address: string() });
export type OwnAddress = Described<typeof OwnAddress>;

export const Passkey = entity({ id: string(), name: string(), createdAt: time(), usedAt: nullable(time()) });
export type Passkey = Described<typeof Passkey>;

export const Passkeys = entity({
  passkeys: array(Passkey),
  /** How many recovery codes are left. */
  recoveryCodes: count(),
  /** A project of the user, or the rule for operators, requires a passkey. */
  required: boolean(),
});
export type Passkeys = Described<typeof Passkeys>;

/** Whether a passkey is required of the members of a project, or of operators. */
export const PasskeyRule = entity({ required: boolean() });
export type PasskeyRule = Described<typeof PasskeyRule>;

/** Options of WebAuthn, for the browser. */
export const PasskeyOptions = z.looseObject({ challenge: string() });
export type PasskeyOptions = Described<typeof PasskeyOptions>;

/** Answered once, when they are made: afterwards only hashes exist. */
export const RecoveryCodes = entity({ codes: array(secret()) });
export type RecoveryCodes = Described<typeof RecoveryCodes>;

export const ApiToken = entity({
  id: string(),
  name: string(),
  role: Role,
  /** Made by `underpass login`. */
  cli: boolean(),
  createdBy: string(),
  createdAt: time(),
  expiresAt: nullable(time()),
  usedAt: nullable(time()),
});
export type ApiToken = Described<typeof ApiToken>;

/** A token of the caller, in any project. */
export const OwnToken = entity({ ...ApiToken.omit({ createdBy: true }).shape, projectName: string() });
export type OwnToken = Described<typeof OwnToken>;

/** Answered once, at creation: afterwards only a hash of the token exists. */
export const NewApiToken = entity({ ...ApiToken.shape, token: secret() });
export type NewApiToken = Described<typeof NewApiToken>;

/** What somebody without a sign-in reaches a private tunnel with. */
export const ReachTicket = entity({
  id: string(),
  name: string(),
  createdBy: string(),
  createdAt: time(),
  expiresAt: nullable(time()),
  usedAt: nullable(time()),
});
export type ReachTicket = Described<typeof ReachTicket>;

/** Answered once, at creation: afterwards only a hash of its secret exists. */
export const NewReachTicket = entity({ ...ReachTicket.shape, ticket: secret() });
export type NewReachTicket = Described<typeof NewReachTicket>;

/** A ticket of a member, which opens connections until a time. */
export const ReachPass = entity({ ticket: secret(), until: time() });

export const AuditEntry = entity({
  id: string(),
  at: time(),
  actor: string(),
  /** A noun and what happened to it: `tunnel.create`. */
  action: string().regex(/^[a-z-]+\.[a-z-]+$/),
  target: string(),
  address: string(),
  detail: z.record(string(), z.unknown()),
  /** The first name of an actor who has an account. */
  actorName: maybe(string()),
});
export type AuditEntry = Described<typeof AuditEntry>;

export const AuditPage = entity({
  entries: array(AuditEntry),
  /** The next page's `before`; null on the last. */
  next: nullable(string()),
  /** The previous page's `after`; null on the first. */
  previous: maybe(nullable(string())),
});
export type AuditPage = Described<typeof AuditPage>;

/** What is known of the certificate that visitors of a domain get. */
const DomainCertificate = entity({
  /** Absent without a valid one. */
  until: maybe(time()),
  lastOrderFailed: boolean(),
  /** The project gave it. */
  own: maybe(boolean()),
});

/** A certificate that the project gave for an ingress domain. Its key is never shown. */
export const OwnCertificate = entity({
  /** The names in it. It serves its ingress domain alone. */
  names: array(string()),
  issuer: string(),
  /** The kind of its key, such as `ECDSA P-256`. */
  keyType: string(),
  /** SHA-256 of the certificate, hex. */
  fingerprint: string(),
  from: time(),
  until: time(),
  /** When it ends, the service gets one from its authority. */
  fallback: boolean(),
  /** What may be wrong, though the edges serve it. */
  warning: maybe(string()),
});
export type OwnCertificate = Described<typeof OwnCertificate>;

/** Empty: the service gets the certificate of the domain itself. */
export const OwnCertificateState = entity({
  certificate: maybe(OwnCertificate),
  /** The CNAME with which the service can get the certificate of a wildcard. */
  record: maybe(entity({ name: hostname(), value: hostname() })),
});
export type OwnCertificateState = Described<typeof OwnCertificateState>;

export const CheckedDomain = entity({
  name: hostname(),
  /** The public addresses; absent if they are not known, or the name is a generated one, whose DNS is ours. */
  ips: maybe(array(string())),
  /** Why the addresses are not known. `limited`: the caller has asked for too many. `unverified`: only the answer for this host looks it up. */
  unchecked: maybe(z.enum(['unanswered', 'limited', 'unverified'])),
  /** Only of verified domains whose TLS ends at the edge. */
  certificate: maybe(DomainCertificate),
});
export type CheckedDomain = Described<typeof CheckedDomain>;

/** Who serves the zone of a domain; empty if it is nobody whom we know by name, or its name servers do not answer. */
export const DomainDns = entity({ provider: maybe(z.enum(dnsProviderNames)) });
export type DomainDns = Described<typeof DomainDns>;

export const TunnelDomains = entity({
  dataPlaneHost: hostname(),
  /** Absent if they are not known. */
  dataPlaneIps: maybe(array(string())),
  domains: array(CheckedDomain),
});
export type TunnelDomains = Described<typeof TunnelDomains>;

export const ConnectedClient = entity({
  id: string(),
  address: string(),
  version: string(),
  since: time(),
  edge: string(),
  rttMs: nullable(rate()),
  healthy: boolean(),
});
export type ConnectedClient = Described<typeof ConnectedClient>;

/** Why a client could not work: the edge refused it, or its upstream does not answer. */
export const ClientErrorCode = z.enum(Object.keys(clientErrors) as ClientErrorName[]);
export type ClientErrorCode = Described<typeof ClientErrorCode>;

/** A visit of a tunnel whose visitor log is on: a request, or a connection of an ingress tunnel. */
export const VisitorLogEntry = entity({
  id: string(),
  at: time(),
  /** Visits before this entry that were not kept, as there were too many; the entry is only about them if this is over 0. */
  missed: count(),
  /** An address, or its network if the log truncates. */
  address: string(),
  /** The signed-in person or the machine token; empty: nobody signed in. */
  who: string(),
  /** Empty for a connection, and for a head that is no HTTP. */
  method: string(),
  host: string(),
  path: string(),
  /** 0 for a connection. */
  status: count(),
  /** Bytes towards the visitor. */
  bytes: count(),
  /** Milliseconds until the edge had a client; of the last round trip to the client; and of the rest until the answer began. */
  edgeMs: nullable(rate()),
  tunnelMs: nullable(rate()),
  upstreamMs: nullable(rate()),
  /** Time until the end of the answer, or of the connection. */
  totalMs: rate(),
  /** The code of docs/errors.md if the edge refused the visit or answered it itself; else empty. */
  code: string(),
  /** The path rule that refused the visit; empty: none. */
  rule: string(),
  /** The trace id that the upstream got (W3C Trace Context); empty: none. */
  trace: string(),
});
export type VisitorLogEntry = Described<typeof VisitorLogEntry>;

export const VisitorLogPage = entity({
  entries: array(VisitorLogEntry),
  next: nullable(string()),
  previous: nullable(string()),
});

/** What is known since the server started. */
export const LastClient = entity({
  seen: nullable(entity({ at: time(), address: string() })),
  error: nullable(entity({ at: time(), address: string(), code: ClientErrorCode })),
  /** When the last one left, and whether it said goodbye, as a client does that somebody stops. */
  left: maybe(entity({ at: time(), onPurpose: boolean() })),
});
export type LastClient = Described<typeof LastClient>;

export const ClientTrouble = entity({ code: ClientErrorCode, at: time(), address: string() });

/** One thing in a project that needs its people. The kind decides which of the others are there. */
export const AttentionItem = entity({
  kind: z.enum(Object.keys(attentionKinds) as AttentionKind[]),
  tunnel: maybe(string()),
  domain: maybe(hostname()),
  /** The name of an API token. */
  tokenName: maybe(string()),
  region: maybe(string()),
  quota: maybe(z.enum(Object.keys(projectQuotas) as QuotaName[])),
  since: maybe(time()),
  until: maybe(time()),
  error: maybe(ClientTrouble),
  portProblem: maybe(PortProblem),
  affected: maybe(count()),
  total: maybe(count()),
});

/** What the people of a project were told. The kind decides which of the others are there. */
export const Alert = entity({
  id: string(),
  kind: z.enum(Object.keys(alertKinds) as AlertKind[]),
  state: z.enum(['open', 'closed']),
  tone: z.enum(['positive', 'negative', 'warning', 'waiting', 'neutral']),
  /** A sentence without its full stop. */
  title: string(),
  text: string(),
  openedAt: time(),
  closedAt: nullable(time()),
  /** When it began: before it opened. */
  since: maybe(time()),
  /** When it ends, or gets worse. */
  until: maybe(time()),
  tunnel: maybe(string()),
  region: maybe(string()),
  domain: maybe(hostname()),
  /** The name of an API token. */
  tokenName: maybe(string()),
  quota: maybe(z.enum(Object.keys(projectQuotas) as QuotaName[])),
  /** The last error of a client. */
  error: maybe(ClientTrouble),
});
export type Alert = Described<typeof Alert>;

export const AlertPage = entity({
  /** The caller gets mails about the alerts of this project. */
  mail: boolean(),
  /** How long a tunnel may be down before an alert opens. */
  waitSeconds: count(),
  /** The open ones first, then the closed ones of the last days; the newest first. */
  alerts: array(Alert),
});
export type AlertPage = Described<typeof AlertPage>;

/** The webhook of a project. Only who set it knows the whole address. */
export const AlertWebhook = entity({
  /** The scheme, host and port of its address. */
  site: z.url(),
  format: z.enum(Object.keys(webhookFormats) as WebhookFormat[]),
  /** When the first of the failures in a row happened. */
  failingSince: nullable(time()),
  /** When it was switched off after three days of failures. */
  disabledAt: nullable(time()),
  /** How long the old secret signs too. */
  oldSecretUntil: nullable(time()),
  updatedAt: time(),
});
export type AlertWebhook = Described<typeof AlertWebhook>;

export const NewAlertWebhook = entity({
  webhook: AlertWebhook,
  /** Shown once: absent if it did not change. */
  secret: maybe(secret()),
});
export type NewAlertWebhook = Described<typeof NewAlertWebhook>;

export const AlertDelivery = entity({
  id: string(),
  type: string(),
  title: string(),
  /** When it happened. */
  at: time(),
  state: z.enum(deliveryStates),
  attempts: count(),
  /** The status of the last answer. */
  status: nullable(count()),
  /** Why the last attempt failed. */
  error: nullable(string()),
  triedAt: nullable(time()),
  nextAt: nullable(time()),
});
export type AlertDelivery = Described<typeof AlertDelivery>;

export const AlertWebhookPage = entity({ webhook: nullable(AlertWebhook), deliveries: array(AlertDelivery) });
export type AlertWebhookPage = Described<typeof AlertWebhookPage>;

const conditionCounts = Object.fromEntries(Object.keys(tunnelConditions).map((name) => [name, count()]));

/** A tunnel on the first screen. */
export const OverviewTunnel = entity({
  name: string(),
  type: TunnelType,
  status: TunnelStatus,
  connectedClients: count(),
  condition: TunnelCondition,
  conditionSince: maybe(time()),
  /** The first of its ingress domains that is an address, else a wildcard. */
  domain: maybe(hostname()),
  /** The public https address of `domain`, with the port if it is not 443. A wildcard has none. */
  url: maybe(z.url()),
  domains: count(),
  /** Where visitors of a tcp tunnel connect, if it has a public port. */
  hostPort: maybe(string()),
  /** What last kept a client from working. */
  error: maybe(ClientTrouble),
  metrics: maybe(TunnelMetrics),
  /** Bytes per second of the last hour, both ways, oldest first. */
  trace: array(rate()),
});
export type OverviewTunnel = Described<typeof OverviewTunnel>;

/** A row of the audit log, with the first name of who did it, if that is an account. */
export const RecentChange = entity(AuditEntry.omit({ address: true }).shape);
export type RecentChange = Described<typeof RecentChange>;

/** How a project stands: its first screen. */
export const Overview = entity({
  tunnels: count(),
  verifiedDomains: count(),
  upstreamDomains: count(),
  connectedClients: count(),
  /** Tunnels of each condition. */
  conditions: entity(conditionCounts as Record<ConditionName, ReturnType<typeof count>>),
  /** The most urgent first, and how many more there are. */
  attention: array(AttentionItem),
  moreAttention: count(),
  /** Some of the tunnels, failing ones first. */
  shown: array(OverviewTunnel),
  /** The newest first. Absent if the caller's role may not read the audit log. */
  changes: maybe(array(RecentChange)),
  /** Only of a project with few tunnels: what is known of its first steps. */
  steps: maybe(
    entity({
      /** The caller has signed in with the CLI. */
      hasCli: boolean(),
      hasConnected: boolean(),
      /** A visitor got an answer. */
      hasServed: boolean(),
    }),
  ),
});
export type Overview = Described<typeof Overview>;

export const HistoryRange = z.enum(['hour', 'day', 'week']);
export type HistoryRange = Described<typeof HistoryRange>;

const quantiles = nullable(entity({ p50: rate(), p95: rate(), p99: rate() }));

const answerFigures = {
  /** How many answers of an http tunnel had which class of status; null without an answer. */
  answers: nullable(entity({ '1xx': count(), '2xx': count(), '3xx': count(), '4xx': count(), '5xx': count() })),
  /** Milliseconds until the first byte of upstreams' answers, and the parts of that time; null without such an answer. */
  firstByte: nullable(entity({ total: quantiles, edge: quantiles, tunnel: quantiles, upstream: quantiles })),
};

export const AnswerFigures = entity(answerFigures);
export type AnswerFigures = Described<typeof AnswerFigures>;

export const HistoryPoint = entity({ ...TunnelMetrics.shape, at: time(), clients: count(), ...answerFigures });
export type HistoryPoint = Described<typeof HistoryPoint>;

export const TunnelHistory = entity({ stepSeconds: count(), points: array(HistoryPoint), whole: AnswerFigures });
export type TunnelHistory = Described<typeof TunnelHistory>;

const usageCounts = {
  rxBytes: count(),
  txBytes: count(),
  requests: count(),
  connections: count(),
  /** Hours in which a tunnel had a client, of all tunnels. */
  tunnelHours: rate(),
  /** Sign-ins of visitors at access policies. */
  signIns: count(),
};

/** What a project used in one month (UTC). */
export const ProjectUsage = entity({
  month: string(),
  total: entity(usageCounts),
  /** Days with any usage. */
  days: array(entity({ day: string(), ...usageCounts })),
  /** Absent: no limit. */
  gigabytesPerMonth: maybe(count()),
  /** When the tunnels stopped, because the limit is used up: in the answer for the present month. */
  stoppedSince: maybe(time()),
});
export type ProjectUsage = Described<typeof ProjectUsage>;

/** Data of a `tunnel` event on the event stream. */
export interface TunnelEvent {
  readonly name: string;
  readonly status: string;
  readonly connectedClients: number;
  readonly condition?: ConditionName;
  readonly conditionSince?: string;
  /** What last kept a client from working. */
  readonly error?: ClientErrorName;
  readonly metrics?: TunnelMetrics;
}

/** One of the groups of a `tunnels` event. */
export interface TunnelGroup extends Pick<TunnelEvent, 'status' | 'connectedClients' | 'condition'> {
  readonly names: readonly string[];
}

/** What a `membership` event says of the reader: another role, no role, or that the project is gone. */
export type MembershipNews = 'changed' | 'removed' | 'deleted';

export const DeviceStart = entity({
  deviceCode: secret(),
  userCode: string().regex(userCodePattern),
  verificationUrl: z.url(),
  /** Seconds. */
  expiresIn: count(),
  /** Seconds between two polls. */
  interval: count(),
});
export type DeviceStart = Described<typeof DeviceStart>;

export const DeviceToken = entity({ token: secret(), email: email(), projects: array(Project) });
export type DeviceToken = Described<typeof DeviceToken>;

export const Device = entity({ name: string(), address: string(), createdAt: time() });
export type Device = Described<typeof Device>;

/** SHA-256, in hex. */
const digest = () => string().regex(/^[0-9a-f]{64}$/);

export const ReleaseFile = entity({ name: string(), platform: string(), size: count(), sha256: digest(), url: path() });
export type ReleaseFile = Described<typeof ReleaseFile>;

export const Release = entity({ version: string(), files: array(ReleaseFile) });
export type Release = Described<typeof Release>;

export const RegistrationState = z.enum(['waiting', 'approved', 'rejected']);
export type RegistrationState = Described<typeof RegistrationState>;

export const OperatorRegistration = entity({
  id: string(),
  email: email(),
  firstName: string(),
  lastName: string(),
  company: string(),
  github: string(),
  x: string(),
  state: RegistrationState,
  /** An active subscription of this e-mail was found. */
  isSubscribed: boolean(),
  createdAt: time(),
  decidedAt: nullable(time()),
  decidedBy: nullable(string()),
  /** Open invitations of this e-mail. */
  invitations: array(entity({ invitedBy: string(), projectName: string() })),
});
export type OperatorRegistration = Described<typeof OperatorRegistration>;

export const Subscription = entity({
  id: string(),
  email: email(),
  source: z.enum(['operator', 'import', 'webhook']),
  active: boolean(),
  expiresAt: nullable(time()),
  updatedAt: time(),
});
export type Subscription = Described<typeof Subscription>;

export const SubscriptionImport = entity({
  imported: count(),
  /** Lines that were skipped, such as `line 3: Not a valid email address.` */
  problems: maybe(array(string())),
});
export type SubscriptionImport = Described<typeof SubscriptionImport>;

export const OperatorUser = entity({
  id: string(),
  email: email(),
  firstName: string(),
  lastName: string(),
  operator: boolean(),
  suspended: boolean(),
  createdAt: time(),
  /** The owner whose invitation approved the account. It makes no projects until an operator allows it to. */
  invitedBy: maybe(string()),
});
export type OperatorUser = Described<typeof OperatorUser>;

/** A list for each kind of row that names the person; control/people/account/personal-data.ts has them. */
export const AccountExport = z.looseObject({ service: z.url(), madeAt: time() });
export type AccountExport = Described<typeof AccountExport>;

/** What a suspension of the user stops, or has stopped. */
export const UserReach = entity({
  /** Projects that no other active owner keeps going, a page of them, with the number of their tunnels. */
  projects: array(entity({ id: string(), name: string(), tunnels: count() })),
  /** All of them, and all their tunnels. */
  projectCount: count(),
  tunnelCount: count(),
  /** API tokens of programs, which stop working, and start again with the user. */
  apiTokens: count(),
  /** Browsers and terminals, which must sign in again. */
  signIns: count(),
});
export type UserReach = Described<typeof UserReach>;

const quotas = Object.fromEntries(Object.keys(projectQuotas).map((name) => [name, count()]));

export const OperatorProject = entity({
  id: string(),
  name: string(),
  owners: array(string()),
  suspended: boolean(),
  limits: entity(quotas as Record<QuotaName, ReturnType<typeof count>>),
  tunnels: count(),
  /** Bytes to and from visitors in the last hour. */
  trafficBytes: count(),
  createdAt: time(),
});
export type OperatorProject = Described<typeof OperatorProject>;

export const OperatorTunnel = entity({
  id: string(),
  name: string(),
  project: Project.pick({ id: true, name: true }),
  type: TunnelType,
  region: string(),
  status: TunnelStatus,
  /** Absent if it is not known: commands of underpass-server get no reports about clients. */
  connectedClients: maybe(count()),
  ingressDomains: array(hostname()),
  suspended: boolean(),
  /** The expiry of a quick tunnel, as in Tunnel. */
  expiresAt: maybe(time()),
});
export type OperatorTunnel = Described<typeof OperatorTunnel>;

export const OperatorRegion = entity({
  name: string(),
  description: string(),
  available: boolean(),
  tlsTermination: boolean(),
  wildcardIngressDomain: maybe(hostname()),
  tcpPorts: maybe(string()),
  dataPlaneHost: hostname(),
  httpsPort: count(),
  httpPort: count(),
  tunnels: count(),
  /** Why the region's host or wildcard could not get a new certificate; absent while there is no such problem. */
  certificateProblem: maybe(string()),
});
export type OperatorRegion = Described<typeof OperatorRegion>;

/** Answered once, when a region's key is made. */
export const RegionKey = entity({ key: secret() });
export type RegionKey = Described<typeof RegionKey>;

export const EdgeHealth = entity({
  id: string(),
  region: string(),
  version: string(),
  connected: boolean(),
  since: time(),
  lastSeenAt: time(),
  acknowledged: boolean(),
  clients: count(),
});
export type EdgeHealth = Described<typeof EdgeHealth>;

/** How one part of the installation stands: a row of `underpass-server status`. */
export const StatusRow = entity({
  part: z.enum(serviceParts),
  name: string(),
  /** False sets the exit code of the command. */
  ok: boolean(),
  state: string(),
  /** When it began to stand like this; of a copy or a backup, when it was made. */
  since: nullable(time()),
  lastError: nullable(string()),
  build: nullable(string()),
});
export type StatusRow = Described<typeof StatusRow>;

/** One thing in the service that needs an operator. The kind decides which of the others are there. */
export const ServiceItem = entity({
  kind: z.enum(Object.keys(serviceKinds) as ServiceKind[]),
  part: maybe(z.enum(serviceParts)),
  name: maybe(string()),
  state: maybe(string()),
  since: maybe(time()),
  error: maybe(string()),
  affected: maybe(count()),
});

/** A region on the operators' first screen. */
export const ServiceRegion = entity({
  name: string(),
  description: string(),
  available: boolean(),
  /** Some of its edges, failing ones first. */
  edges: array(EdgeHealth),
  totalEdges: count(),
  connectedEdges: count(),
  clients: count(),
});
export type ServiceRegion = Described<typeof ServiceRegion>;

/** How the service stands: the operators' first screen. */
export const ServiceOverview = entity({
  /** The most urgent first, and how many more there are. */
  attention: array(ServiceItem),
  moreAttention: count(),
  /** Some of the regions, failing ones first. */
  regions: array(ServiceRegion),
  totalRegions: count(),
  edges: count(),
  connectedEdges: count(),
  /** All parts but regions, edges and their copies. */
  parts: array(StatusRow),
});
export type ServiceOverview = Described<typeof ServiceOverview>;

export const BlockKind = z.enum(['address', 'name']);
export type BlockKind = Described<typeof BlockKind>;

/** What an operator blocks for the whole service. */
export const Block = entity({
  id: string(),
  kind: BlockKind,
  /** Canonical: an address, a range in CIDR notation, or a name that holds those below it. */
  value: string(),
  reason: string(),
  createdBy: string(),
  createdAt: time(),
});
export type Block = Described<typeof Block>;

export const BlockImport = entity({
  imported: count(),
  /** Lines that were skipped, such as `line 3: 203.0.113.0/24 holds your own address, 203.0.113.5.` */
  problems: maybe(array(string())),
});
export type BlockImport = Described<typeof BlockImport>;

export const AbuseReportState = z.enum(['open', 'closed']);
export type AbuseReportState = Described<typeof AbuseReportState>;

export const AbuseReport = entity({
  id: string(),
  host: hostname(),
  email: email(),
  text: string(),
  state: AbuseReportState,
  createdAt: time(),
});
export type AbuseReport = Described<typeof AbuseReport>;
