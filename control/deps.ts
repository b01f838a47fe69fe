// What control is made of: everything that touches the world, passed in. server/ composes it; tests pass fakes.

import type { OperatorIdentity } from '@underpass/rules/resource.ts';
import type { Logger } from 'pino';
import type { BotCheckPort } from './auth/bot-check.ts';
import type { Bus } from './bus/bus.ts';
import type { CertificatePort } from './certificate/port.ts';
import type { DnsPort } from './dns/port.ts';
import type { FeedPort } from './feed/port.ts';
import type { Limiter } from './limit/limiter.ts';
import type { KeyRing } from './secret/key-ring.ts';
import type { Store } from './store/store.ts';

export type Clock = () => number;

/** One rendered mail. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Delivers or throws; bounded in time. */
export type SendMail = (mail: Mail) => Promise<void>;

export interface ControlSettings {
  /** Public address of the dashboard, no trailing slash. Links start with it, never with a request's Host. */
  readonly origin: string;
  readonly production: boolean;
  readonly version: string;
  readonly operatorEmail: string;
  readonly securityContact: string;
  readonly trustedProxies: readonly string[];
  /** Both or neither; neither means the self-hosted check. */
  readonly turnstile?: { readonly siteKey: string; readonly secret: string; readonly url: string };
  readonly subscriptionLookup?: { readonly url: string; readonly token?: string };
  readonly subscriptionWebhookSecret?: string;
  /** Who runs the service: for the legal pages and the footer. */
  readonly operatorIdentity: OperatorIdentity;
  /** Folders of the built dashboard, of the released CLI files, and of install.sh and install.ps1. */
  readonly dashboard?: string;
  readonly releases?: string;
  readonly installers?: string;
}

export interface ControlDeps {
  readonly settings: ControlSettings;
  readonly store: Store;
  readonly bus: Bus;
  readonly keyRing: KeyRing;
  readonly clock: Clock;
  readonly log: Logger;
  readonly sendMail: SendMail;
  /** Mails kept in development, newest first; absent in production. */
  readonly mailbox?: { list(): Promise<readonly KeptMail[]> };
  readonly feed: FeedPort;
  readonly dns: DnsPort;
  readonly certificates: CertificatePort;
  /** Left out, the settings choose; tests pass a cheap one. */
  readonly botCheck?: BotCheckPort;
  /** Left out, the numbers of rules/limits.ts hold. */
  readonly limiter?: Limiter;
}

export interface KeptMail extends Mail {
  readonly id: string;
  /** ISO 8601. */
  readonly at: string;
}
