// What the server's settings mean to control: values, folders and the way that mails leave.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ControlDeps, ControlSettings } from '@underpass/control/deps.ts';
import { Dependency, type DependencyDeps } from '@underpass/control/platform/dependency/dependency.ts';
import type { SendMail } from '@underpass/control/platform/mail/mail.ts';
import { createMailbox } from '@underpass/control/platform/mail/mailbox.ts';
import type { Logger } from 'pino';
import { ServerError } from '../process/error.ts';
import { version } from '../process/version.ts';
import { type Settings, settingTable } from '../settings/settings.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A fresh clone has neither a dashboard nor releases yet; control serves them as soon as they are built. */
const dashboardOf = ({ dashboard }: Settings): string => dashboard ?? join(root, 'dashboard', 'dist');
const releasesOf = ({ releases }: Settings): string => releases ?? join(root, 'client', 'dist', 'releases');

export function controlSettings(settings: Settings): ControlSettings {
  const {
    turnstileSiteKey: siteKey,
    turnstileSecret: secret,
    turnstileUrl,
    subscriptionLookupUrl,
    subscriptionLookupToken: token,
  } = settings;
  return {
    origin: settings.origin,
    production: settings.production,
    version,
    operatorEmail: settings.operatorEmail,
    securityContact: settings.securityContact ?? `mailto:${settings.operatorEmail}`,
    trustedProxies: settings.trustedProxies,
    providerNetworks: settings.providerNetworks,
    webhookNetworks: settings.webhookNetworks,
    quickTunnels: settings.quickTunnels,
    chosenNames: settings.chosenNames,
    invitationsApprove: settings.invitationsApprove,
    operatorIdentity: {
      name: settings.operatorName,
      email: settings.operatorEmail,
      ...(settings.operatorAddress === undefined ? {} : { address: settings.operatorAddress }),
      ...(settings.operatorCompanyNumber === undefined ? {} : { companyNumber: settings.operatorCompanyNumber }),
    },
    ...(siteKey === undefined || secret === undefined ? {} : { turnstile: { siteKey, secret, url: turnstileUrl } }),
    ...(subscriptionLookupUrl === undefined
      ? {}
      : { subscriptionLookup: { url: subscriptionLookupUrl, ...(token === undefined ? {} : { token }) } }),
    ...(settings.subscriptionWebhookSecret === undefined
      ? {}
      : { subscriptionWebhookSecret: settings.subscriptionWebhookSecret }),
    ...usageWebhookOf(settings),
    dashboard: dashboardOf(settings),
    releases: releasesOf(settings),
    installers: join(root, 'deploy', 'installer'),
  };
}

function usageWebhookOf({ usageWebhookUrl: url, usageWebhookSecret: secret }: Settings) {
  return url === undefined || secret === undefined ? {} : { usageWebhook: { url, secret } };
}

/** Fails at the start instead of answering "Page not found" later without a reason. */
export function expectFolders(settings: Settings, log: Logger): void {
  const { dashboard, releases } = settings;
  const given = [
    [settingTable.dashboard.name, dashboard],
    [settingTable.releases.name, releases],
  ] as const;
  for (const [name, path] of given)
    if (path !== undefined && !existsSync(path)) throw new ServerError('file-unusable', `${path} (${name})`);
  if (!existsSync(dashboardOf(settings)))
    log.warn('dashboard: it is not built, so that its pages are not found; npm run build makes it');
}

interface Mail extends Pick<ControlDeps, 'mailbox'> {
  readonly sendMail: SendMail;
  readonly closeMail: () => void;
  readonly dependencies: readonly Dependency[];
}

export async function openMail(settings: Settings, deps: DependencyDeps): Promise<Mail> {
  if (settings.smtpUrl === undefined) {
    const mailbox = createMailbox(join(settings.home, 'mailbox'), deps.clock);
    return { sendMail: mailbox.send, mailbox, closeMail: () => {}, dependencies: [] };
  }
  const { createSmtpMail } = await import('@underpass/control/platform/mail/smtp.ts');
  const dependency = new Dependency('mail', deps);
  const smtp = createSmtpMail(settings.smtpUrl, settings.mailFrom, dependency);
  return { sendMail: smtp.send, closeMail: () => smtp.close(), dependencies: [dependency] };
}
