// What answers besides the calls of the table: the webhook, the pages on which visitors sign in, the site, and in development
// the mailbox.

import { addUnsubscribe } from './alerts/unsubscribe.ts';
import type { App } from './api/app.ts';
import type { AreaDeps } from './area-deps.ts';
import { takeSubscriptionWebhook } from './people/registration/webhook.ts';
import { answerMethod } from './request/http/method.ts';
import { addMailbox, mailboxPath } from './site/mailbox-page.ts';
import { addSite } from './site/site.ts';
import { findSignInPolicy } from './visitors/policies/find-sign-in-policy.ts';
import { createDocumentReader, publicNet } from './visitors/programs/document.ts';
import { addOAuth } from './visitors/programs/routes.ts';
import { addVisits } from './visitors/sign-in/routes.ts';

/** The mails that development keeps; undefined in production. */
const keptMails = ({ settings, mailbox }: AreaDeps): AreaDeps['mailbox'] => (settings.production ? undefined : mailbox);

/** Where people read those mails, as the meta call names it. */
export const mailboxOf = (deps: AreaDeps): { readonly mailbox?: string } =>
  keptMails(deps) === undefined ? {} : { mailbox: mailboxPath };

export function addOtherRoutes(app: App, deps: AreaDeps, isRunning: () => boolean): void {
  const { settings, store, keyRing, clock, dns, documentNet = publicNet(dns) } = deps;
  const webhook = { ...deps, secret: settings.subscriptionWebhookSecret };
  app.post('/hooks/subscriptions', (c) => takeSubscriptionWebhook(webhook, c.req.raw, c.env.address));
  app.all('/hooks/subscriptions', (c) => answerMethod(c.req.raw, ['POST']));
  const mailbox = keptMails(deps);
  if (mailbox !== undefined) addMailbox(app, { ...deps, mailbox });
  const programs = addOAuth(app, {
    ...deps,
    findPolicy: (host) => findSignInPolicy(store.db, keyRing, host, clock()),
    readDocument: createDocumentReader(documentNet),
  });
  addVisits(app, { ...deps, production: settings.production, providerNetworks: settings.providerNetworks, programs });
  addUnsubscribe(app, deps);
  addSite(app, { ...deps, isRunning });
}
