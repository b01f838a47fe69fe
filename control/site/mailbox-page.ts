// The development mailbox as a page for operators: GET /dev/mailbox.

import type { Env, Hono } from 'hono';
import type { KeptMail } from '../platform/mail/mail.ts';
import { findCaller, type IdentifyDeps } from '../request/caller/identify.ts';
import { expectPasskey, needsOperatorPasskey } from '../request/caller/passkey-rule.ts';
import { refuse } from '../request/http/refusal.ts';

interface MailboxDeps extends IdentifyDeps {
  readonly mailbox: { list(): Promise<readonly KeptMail[]> };
  readonly clock: () => number;
}

// Plain text, so that a browser never reads what somebody wrote into a form as HTML.
const renderMail = ({ at, to, subject, text }: KeptMail): string => `${at}\nTo: ${to}\nSubject: ${subject}\n\n${text}`;

export const mailboxPath = '/dev/mailbox';

export function addMailbox<E extends Env>(app: Hono<E>, deps: MailboxDeps): void {
  app.get(mailboxPath, async (c) => {
    const caller = await findCaller(deps, c.req.raw.headers, deps.clock());
    if (!caller?.operator) return refuse('forbidden', 'Only operators may do this.');
    expectPasskey(await needsOperatorPasskey(deps.store.db), caller);
    const mails = await deps.mailbox.list();
    const text = mails.length === 0 ? 'No mail yet.\n' : mails.map(renderMail).join(`\n${'='.repeat(72)}\n\n`);
    return c.text(text);
  });
}
