// The shapes of rules/entity.ts and rules/resource.ts as schemas: what the OpenAPI document shows, and what a test
// holds every answer to. Strict: a field that is not here does not leave the server.

import type * as entity from '@underpass/rules/entity.ts';
import type * as resource from '@underpass/rules/resource.ts';
import { z } from 'zod';

const { string, boolean, number, strictObject, array, literal, exactOptional, nullable } = z;
const count = () => number().int().nonnegative();
const time = () => z.iso.datetime();
const role = () => z.enum(['owner', 'admin', 'member', 'viewer']);
const tunnelType = () => z.enum(['http', 'ingress']);
const tunnelStatus = () => z.enum(['Pending', 'Progressing', 'Created']);

const project = strictObject({ id: string(), name: string(), role: role() });
const metrics = strictObject({ rx: number(), tx: number(), tcpConnectionRate: number() });
const ingressDomain = strictObject({ name: string(), apexName: string(), verified: boolean(), url: z.url() });

const tunnel = strictObject({
  name: string(),
  type: tunnelType(),
  region: string(),
  regionDescription: string(),
  status: tunnelStatus(),
  ingressDomains: array(ingressDomain),
  connectedClients: exactOptional(count()),
  dataPlaneHost: string(),
  proxyProtocol: z.enum(['', 'v1', 'v2']),
  securityGroup: string(),
  updatedAt: time(),
  token: exactOptional(string()),
  url: z.url(),
  underpassVersion: string(),
  metrics: exactOptional(metrics),
});

const releaseFile = strictObject({ name: string(), platform: string(), size: count(), sha256: string(), url: string() });
const auditEntry = strictObject({
  id: string(),
  at: time(),
  actor: string(),
  action: string(),
  target: string(),
  address: string(),
  detail: z.record(string(), z.unknown()),
});
const apiToken = strictObject({
  id: string(),
  name: string(),
  role: role(),
  createdBy: string(),
  createdAt: time(),
  expiresAt: nullable(time()),
  usedAt: nullable(time()),
});
const historyPoint = strictObject({ ...metrics.shape, at: time(), clients: count() });
const quotas = strictObject({
  tunnels: count(),
  domains: count(),
  securityGroups: count(),
  rulesPerGroup: count(),
  ingressDomainsPerTunnel: count(),
  members: count(),
  apiTokens: count(),
});
const botCheck = z.union([
  strictObject({ kind: literal('altcha'), challengeUrl: string() }),
  strictObject({ kind: literal('turnstile'), siteKey: string() }),
]);
const identity = strictObject({
  name: string(),
  email: string(),
  address: exactOptional(string()),
  companyNumber: exactOptional(string()),
});

/** Each schema is held to its type by the compiler: neither can gain a field without the other. */
interface Shapes extends EntityShapes, ResourceShapes {
  readonly object: object;
}
interface EntityShapes {
  readonly User: entity.User;
  readonly Project: entity.Project;
  readonly Domain: entity.Domain;
  readonly Tunnel: entity.Tunnel;
  readonly Region: entity.Region;
  readonly SecurityGroup: entity.SecurityGroup;
  readonly DnsLookup: entity.DnsLookup;
}
interface ResourceShapes {
  readonly Meta: resource.Meta;
  readonly BotCheck: resource.BotCheck;
  readonly InvitationOffer: resource.InvitationOffer;
  readonly LoginLinkCheck: resource.LoginLinkCheck;
  readonly Session: resource.Session;
  readonly Member: resource.Member;
  readonly Invitation: resource.Invitation;
  readonly ApiToken: resource.ApiToken;
  readonly NewApiToken: resource.NewApiToken;
  readonly AuditPage: resource.AuditPage;
  readonly ConnectedClient: resource.ConnectedClient;
  readonly TunnelHistory: resource.TunnelHistory;
  readonly DeviceStart: resource.DeviceStart;
  readonly DeviceToken: resource.DeviceToken;
  readonly Device: resource.Device;
  readonly Release: resource.Release;
  readonly OperatorRegistration: resource.OperatorRegistration;
  readonly Subscription: resource.Subscription;
  readonly SubscriptionImport: resource.SubscriptionImport;
  readonly OperatorUser: resource.OperatorUser;
  readonly OperatorProject: resource.OperatorProject;
  readonly OperatorTunnel: resource.OperatorTunnel;
  readonly OperatorRegion: resource.OperatorRegion;
  readonly RegionKey: resource.RegionKey;
  readonly EdgeHealth: resource.EdgeHealth;
  readonly AbuseReport: resource.AbuseReport;
}

export const answerSchemas = {
  User: strictObject({ email: string(), firstName: string(), defaultProject: string(), operator: boolean() }),
  Project: project,
  Domain: strictObject({ apexName: string(), verified: boolean(), challenge: string() }),
  Tunnel: tunnel,
  Region: strictObject({
    name: string(),
    description: string(),
    available: boolean(),
    tlsTermination: boolean(),
    wildcardIngressDomain: exactOptional(string()),
  }),
  SecurityGroup: strictObject({ name: string(), updatedAt: time(), assignmentCount: count(), allowList: array(string()) }),
  DnsLookup: strictObject({ host: string(), ips: array(string()) }),
  Meta: strictObject({ version: string(), origin: z.url(), operator: identity }),
  BotCheck: botCheck,
  LoginLinkCheck: strictObject({ sameBrowser: boolean() }),
  Session: strictObject({
    id: string(),
    address: string(),
    userAgent: string(),
    createdAt: time(),
    seenAt: time(),
    isCurrent: boolean(),
  }),
  Member: strictObject({
    id: string(),
    email: string(),
    firstName: string(),
    lastName: string(),
    role: role(),
    since: time(),
    isSelf: boolean(),
  }),
  Invitation: strictObject({
    id: string(),
    email: string(),
    role: role(),
    invitedBy: string(),
    createdAt: time(),
    expiresAt: time(),
  }),
  InvitationOffer: strictObject({ projectName: string(), invitedBy: string(), role: role() }),
  ApiToken: apiToken,
  NewApiToken: strictObject({ ...apiToken.shape, token: string() }),
  AuditPage: strictObject({ entries: array(auditEntry), next: nullable(string()) }),
  ConnectedClient: strictObject({
    id: string(),
    address: string(),
    version: string(),
    since: time(),
    edge: string(),
    rttMs: nullable(number()),
    healthy: boolean(),
  }),
  TunnelHistory: strictObject({ stepSeconds: count(), points: array(historyPoint) }),
  DeviceStart: strictObject({
    deviceCode: string(),
    userCode: string(),
    verificationUrl: z.url(),
    expiresIn: count(),
    interval: count(),
  }),
  DeviceToken: strictObject({ token: string(), email: string(), projects: array(project) }),
  Device: strictObject({ name: string(), address: string(), createdAt: time() }),
  Release: strictObject({ version: string(), files: array(releaseFile) }),
  OperatorRegistration: strictObject({
    id: string(),
    email: string(),
    firstName: string(),
    lastName: string(),
    company: string(),
    github: string(),
    x: string(),
    state: z.enum(['waiting', 'approved', 'rejected']),
    isSubscribed: boolean(),
    createdAt: time(),
    decidedAt: nullable(time()),
    decidedBy: nullable(string()),
  }),
  Subscription: strictObject({
    id: string(),
    email: string(),
    source: z.enum(['operator', 'import', 'webhook']),
    active: boolean(),
    expiresAt: nullable(time()),
    updatedAt: time(),
  }),
  SubscriptionImport: strictObject({ imported: count(), problems: exactOptional(array(string())) }),
  OperatorUser: strictObject({
    id: string(),
    email: string(),
    firstName: string(),
    lastName: string(),
    operator: boolean(),
    suspended: boolean(),
    createdAt: time(),
  }),
  OperatorProject: strictObject({
    id: string(),
    name: string(),
    owners: array(string()),
    suspended: boolean(),
    limits: quotas,
    tunnels: count(),
    createdAt: time(),
  }),
  OperatorTunnel: strictObject({
    id: string(),
    name: string(),
    project: strictObject({ id: string(), name: string() }),
    type: tunnelType(),
    region: string(),
    status: tunnelStatus(),
    connectedClients: exactOptional(count()),
    ingressDomains: array(string()),
    suspended: boolean(),
  }),
  OperatorRegion: strictObject({
    name: string(),
    description: string(),
    available: boolean(),
    tlsTermination: boolean(),
    wildcardIngressDomain: exactOptional(string()),
    dataPlaneHost: string(),
    httpsPort: count(),
    httpPort: count(),
    tunnels: count(),
    certificateProblem: exactOptional(string()),
  }),
  RegionKey: strictObject({ key: string() }),
  EdgeHealth: strictObject({
    id: string(),
    region: string(),
    version: string(),
    connected: boolean(),
    since: time(),
    lastSeenAt: time(),
    acknowledged: boolean(),
    clients: count(),
  }),
  AbuseReport: strictObject({
    id: string(),
    host: string(),
    email: string(),
    text: string(),
    state: z.enum(['open', 'closed']),
    createdAt: time(),
  }),
  object: z.looseObject({}),
} satisfies { readonly [Name in keyof Shapes]: z.ZodType<Shapes[Name]> };

export type AnswerName = keyof typeof answerSchemas;
