// The development mailbox as a page for operators: GET /dev/mailbox. Not there in production, nor where SMTP is set.

import type { Env, Hono } from 'hono';
import { findCaller } from '../access/identify.ts';
import type { KeptMail } from '../deps.ts';
import { refuse } from '../http/refusal.ts';
import type { Parts } from '../parts.ts';

// Plain text: nothing that somebody wrote into a form is ever read as HTML.
const renderMail = ({ at, to, subject, text }: KeptMail): string => `${at}\nTo: ${to}\nSubject: ${subject}\n\n${text}`;

export const addMailbox = <E extends Env>(app: Hono<E>, parts: Parts): void => {
  const { mailbox, settings } = parts;
  if (mailbox === undefined || settings.production) return;
  app.get('/dev/mailbox', async (c) => {
    const caller = await findCaller(parts, c.req.raw.headers, parts.clock());
    if (!caller?.operator) return refuse('forbidden', 'Only operators may do this.');
    const mails = await mailbox.list();
    const text = mails.length === 0 ? 'No mail yet.\n' : mails.map(renderMail).join(`\n${'='.repeat(72)}\n\n`);
    return c.text(text);
  });
};
