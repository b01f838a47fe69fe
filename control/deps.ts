// What createControl takes: everything that touches the outside world. server/ passes the real things, tests pass fakes.

import type { OperatorIdentity, StatusRow } from '@underpass/rules/entity/resource.ts';
import type { UsageWebhook } from './billing/billing.ts';
import type { CertificatePort } from './edges/certificate/port.ts';
import type { DnsPort } from './edges/dns/port.ts';
import type { FeedPort } from './edges/feed/port.ts';
import type { BotCheck } from './people/auth/bot-check.ts';
import type { SubscriptionLookup } from './people/registration/subscription.ts';
import type { Dependency } from './platform/dependency/dependency.ts';
import type { PlatformDeps } from './platform/deps.ts';
import type { Limiter } from './platform/limit/limiter.ts';
import type { KeptMail, SendMail } from './platform/mail/mail.ts';
import type { SiteSettings } from './site/site.ts';
import type { DocumentNet } from './visitors/programs/document.ts';

export interface ControlSettings extends SiteSettings {
  /** The dashboard's public URL without a trailing slash. Links start with it, never with a request's Host. */
  readonly origin: string;
  readonly production: boolean;
  readonly version: string;
  readonly operatorEmail: string;
  /** How many quick tunnels one person may have at once; 0 switches them off. */
  readonly quickTunnels: number;
  /** A quick tunnel's name may be the label of its address. */
  readonly chosenNames: boolean;
  /** An owner's invitation approves the account of the person whom it invites. */
  readonly invitationsApprove: boolean;
  readonly trustedProxies: readonly string[];
  /** Private networks where identity providers of access policies may be. */
  readonly providerNetworks: readonly string[];
  /** Private networks where webhooks of alerts may be. */
  readonly webhookNetworks: readonly string[];
  /** Left out, the self-hosted bot check is used. */
  readonly turnstile?: { readonly siteKey: string; readonly secret: string; readonly url: string };
  readonly subscriptionLookup?: SubscriptionLookup;
  readonly subscriptionWebhookSecret?: string;
  /** Where an operator's billing system takes what projects used. */
  readonly usageWebhook?: UsageWebhook;
  /** Who runs the service; shown on the legal pages and in the footer. */
  readonly operatorIdentity: OperatorIdentity;
}

export interface ControlDeps extends Omit<PlatformDeps, 'jobs' | 'limiter'> {
  readonly settings: ControlSettings;
  /** What the metrics tell about; left out, nothing. */
  readonly dependencies?: readonly Dependency[];
  readonly sendMail: SendMail;
  /** The mails kept in development, newest first; left out in production. */
  readonly mailbox?: { list(): Promise<readonly KeptMail[]> };
  readonly feed: FeedPort;
  readonly dns: DnsPort;
  readonly certificates: CertificatePort;
  /** How all parts stand, as `underpass-server status` shows it; left out, nothing is known. */
  readonly readStatus?: () => Promise<readonly StatusRow[]>;
  /** Left out, the settings decide; tests pass a cheap one. */
  readonly botCheck?: BotCheck;
  /** Where documents about programs may lie. Left out, at public addresses; a test passes one that leads to its own site. */
  readonly documentNet?: DocumentNet;
  /** Left out, the limits of rules/limits.ts apply. */
  readonly limiter?: Limiter;
}
