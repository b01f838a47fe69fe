// The shapes of spec section 3, as they travel in JSON. Rules about them live in their own files.

import type { Role } from './permission.ts';
import type { ProxyProtocol } from './proxy-protocol.ts';
import type { TunnelStatus } from './tunnel-status.ts';
import type { TunnelType } from './tunnel-type.ts';

export type { ProxyProtocol, Role, TunnelStatus, TunnelType };

export interface User {
  readonly email: string;
  readonly firstName: string;
  readonly defaultProject: string;
  /** True for people who may open the operator pages. */
  readonly operator: boolean;
}

export interface Project {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
}

export interface Domain {
  readonly apexName: string;
  readonly verified: boolean;
  /** The bare challenge; the TXT value is the fixed prefix followed by it. */
  readonly challenge: string;
}

export interface IngressDomain {
  readonly name: string;
  /** Empty for a generated name: its DNS is ours, so there is nothing to configure. */
  readonly apexName: string;
  readonly verified: boolean;
  /** Public https address, with the port where it is not 443. */
  readonly url: string;
}

export interface TunnelMetrics {
  /** Bytes per second over 5 minutes, visitors to upstream. */
  readonly rx: number;
  /** Bytes per second over 5 minutes, upstream to visitors. */
  readonly tx: number;
  /** Visitor TCP connections per second over 5 minutes. */
  readonly tcpConnectionRate: number;
}

export interface Tunnel {
  readonly name: string;
  readonly type: TunnelType;
  readonly region: string;
  readonly regionDescription: string;
  readonly status: TunnelStatus;
  readonly ingressDomains: readonly IngressDomain[];
  readonly connectedClients?: number;
  readonly dataPlaneHost: string;
  readonly proxyProtocol: ProxyProtocol;
  readonly securityGroup: string;
  /** ISO 8601, UTC: of what a person set. */
  readonly updatedAt: string;
  /** Missing where the caller's role may not read it. */
  readonly token?: string;
  /** What a client dials: https://host[:port][#ca=<sha256 of the CA certificate, hex>]. */
  readonly url: string;
  readonly underpassVersion: string;
  readonly metrics?: TunnelMetrics;
}

export interface Region {
  readonly name: string;
  readonly description: string;
  readonly available: boolean;
  readonly tlsTermination: boolean;
  readonly wildcardIngressDomain?: string;
}

export interface SecurityGroup {
  readonly name: string;
  /** ISO 8601, UTC. */
  readonly updatedAt: string;
  readonly assignmentCount: number;
  readonly allowList: readonly string[];
}

export interface DnsLookup {
  readonly host: string;
  readonly ips: readonly string[];
}

export type DnsCheck = 'dns_ok' | 'no_dns';
