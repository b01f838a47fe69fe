// The entities of spec section 3 as JSON: one schema each, and the type derived from it.
// The rules about them have their own files.

import { z } from 'zod';
import { roles } from '../people/permission.ts';
import { type PortProblem as PortProblemName, portProblems } from '../tunnel/port-range.ts';
import { proxyProtocolOptions } from '../tunnel/proxy-protocol.ts';
import { type TunnelCondition as ConditionName, tunnelConditions } from '../tunnel/tunnel-condition.ts';
import { tunnelStatuses } from '../tunnel/tunnel-status.ts';
import { tunnelTypeNames } from '../tunnel/tunnel-type.ts';
import { array, boolean, count, type Described, email, entity, hostname, maybe, rate, secret, string, time } from './schema.ts';

export const TunnelType = z.enum(tunnelTypeNames);

export const ProxyProtocol = z.enum(proxyProtocolOptions.map(({ value }) => value));
export type ProxyProtocol = Described<typeof ProxyProtocol>;

export const TunnelStatus = z.enum(Object.keys(tunnelStatuses) as (keyof typeof tunnelStatuses)[]);
export type TunnelStatus = Described<typeof TunnelStatus>;

export const TunnelCondition = z.enum(Object.keys(tunnelConditions) as ConditionName[]);

export const Role = z.enum(roles);
export type Role = Described<typeof Role>;

export const User = entity({
  email: email(),
  firstName: string(),
  defaultProject: string(),
  /** True for people who may open the operator pages. */
  operator: boolean(),
  /** Operators need a passkey, and this session is not confirmed with one: the operator pages are closed to it. */
  passkey: maybe(z.literal('needed')),
  /** An owner's invitation approved the account, which makes no projects of its own. */
  invited: maybe(z.literal(true)),
});
export type User = Described<typeof User>;

export const Project = entity({
  id: string(),
  name: string(),
  role: Role,
  /** The project requires a passkey. `needed`: this session is not confirmed with one, so the project is closed to it. */
  passkey: maybe(z.enum(['required', 'needed'])),
});
export type Project = Described<typeof Project>;

export const Domain = entity({
  apexName: hostname(),
  verified: boolean(),
  /** The bare challenge; the TXT value is the fixed prefix followed by it. */
  challenge: string(),
});
export type Domain = Described<typeof Domain>;

export const IngressDomain = entity({
  name: hostname(),
  /** Empty for a generated name: its DNS is ours, so there is nothing to configure. */
  apexName: string(),
  verified: boolean(),
  /** The operator has blocked the name: it serves nobody, verified or not. */
  blocked: maybe(boolean()),
  /** Public https address, with the port if it is not 443. */
  url: z.url(),
});
export type IngressDomain = Described<typeof IngressDomain>;

export const PortProblem = z.enum(Object.keys(portProblems) as PortProblemName[]);

export const TunnelMetrics = entity({
  /** Bytes per second over 5 minutes, visitors to upstream. */
  rx: rate(),
  /** Bytes per second over 5 minutes, upstream to visitors. */
  tx: rate(),
  /** Visitor TCP connections per second over 5 minutes. */
  tcpConnectionRate: rate(),
});
export type TunnelMetrics = Described<typeof TunnelMetrics>;

export const Tunnel = entity({
  name: string(),
  type: TunnelType,
  region: string(),
  regionDescription: string(),
  status: TunnelStatus,
  ingressDomains: array(IngressDomain),
  connectedClients: maybe(count()),
  /** What the status means for visitors, and since when. */
  condition: maybe(TunnelCondition),
  conditionSince: maybe(time()),
  dataPlaneHost: hostname(),
  /** The public port of a tcp tunnel. Absent: it has none. */
  port: maybe(count()),
  /** Why edges of the region do not listen on `port`; absent: they do, or have not said. */
  portProblem: maybe(PortProblem),
  proxyProtocol: ProxyProtocol,
  securityGroup: string(),
  /** Absent: anybody whom the security group allows may visit. */
  accessPolicy: maybe(string()),
  /** What the visitor log keeps of addresses. Absent: it is off. */
  visitorLog: maybe(z.enum(['truncated', 'full'])),
  /** The visitor log keeps the query of each path. */
  visitorLogQuery: maybe(z.literal(true)),
  /** The edge begins a trace for a request that brings none. */
  beginsTraces: maybe(z.literal(true)),
  /** When a person last changed the tunnel. */
  updatedAt: time(),
  /** Only of a quick tunnel that nobody keeps: it is deleted then. While a client is connected, the time moves on, up to `endsAt`. */
  expiresAt: maybe(time()),
  /** The time at which it is deleted, connected or not. */
  endsAt: maybe(time()),
  /** Absent if the caller's role may not read it. */
  token: maybe(secret()),
  /** What a client dials: https://host[:port][#ca=<sha256 of the CA certificate, hex>]. */
  url: z.url(),
  underpassVersion: string(),
  metrics: maybe(TunnelMetrics),
});
export type Tunnel = Described<typeof Tunnel>;

export const Region = entity({
  name: string(),
  description: string(),
  available: boolean(),
  tlsTermination: boolean(),
  wildcardIngressDomain: maybe(hostname()),
  /** The public ports of its tcp tunnels, `20000-20099`. Absent: it offers none. */
  tcpPorts: maybe(string()),
});
export type Region = Described<typeof Region>;

export const SecurityGroup = entity({
  name: string(),
  updatedAt: time(),
  assignmentCount: count(),
  allowList: array(string()),
});
export type SecurityGroup = Described<typeof SecurityGroup>;

export const DnsLookup = entity({ host: hostname(), ips: array(string()) });
export type DnsLookup = Described<typeof DnsLookup>;
