// What control is made of: everything that touches the world, passed in. server/ composes it; tests pass fakes.

import type { OperatorIdentity } from '@underpass/rules/resource.ts';
import type { Logger } from 'pino';
import type { BotCheck } from './auth/bot-check.ts';
import type { Bus } from './bus/bus.ts';
import type { CertificatePort } from './certificate/port.ts';
import type { DnsPort } from './dns/port.ts';
import type { FeedPort } from './feed/port.ts';
import type { Limiter } from './limit/limiter.ts';
import type { KeptMail, SendMail } from './mail/mail.ts';
import type { SubscriptionLookup } from './registration/subscription.ts';
import type { KeyRing } from './secret/key-ring.ts';
import type { SiteSettings } from './site/site.ts';
import type { Store } from './store/store.ts';

export interface ControlSettings extends SiteSettings {
  /** Public address of the dashboard, no trailing slash. Links start with it, never with a request's Host. */
  readonly origin: string;
  readonly production: boolean;
  readonly version: string;
  readonly operatorEmail: string;
  readonly trustedProxies: readonly string[];
  /** Both or neither; neither means the self-hosted check. */
  readonly turnstile?: { readonly siteKey: string; readonly secret: string; readonly url: string };
  readonly subscriptionLookup?: SubscriptionLookup;
  readonly subscriptionWebhookSecret?: string;
  /** Who runs the service: for the legal pages and the footer. */
  readonly operatorIdentity: OperatorIdentity;
}

export interface ControlDeps {
  readonly settings: ControlSettings;
  readonly store: Store;
  readonly bus: Bus;
  readonly keyRing: KeyRing;
  readonly clock: () => number;
  readonly log: Logger;
  readonly sendMail: SendMail;
  /** Mails kept in development, newest first; absent in production. */
  readonly mailbox?: { list(): Promise<readonly KeptMail[]> };
  readonly feed: FeedPort;
  readonly dns: DnsPort;
  readonly certificates: CertificatePort;
  /** Left out, the settings choose; tests pass a cheap one. */
  readonly botCheck?: BotCheck;
  /** Left out, the numbers of rules/limits.ts hold. */
  readonly limiter?: Limiter;
}
