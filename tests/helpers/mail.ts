// The mails that a product under test sent, from its development mailbox.
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { KeptMail } from '@underpass/control/platform/mail/mail.ts';
import { createMailbox } from '@underpass/control/platform/mail/mailbox.ts';
import type { Product } from './product.ts';

const withinMs = 30_000;
const pollMs = 50;

/** Waits for a mail to this address with a matching subject; returns the newest. */
export async function waitForMail(product: Product, to: string, subject: RegExp): Promise<KeptMail> {
  const mailbox = createMailbox(join(product.home, 'mailbox'), Date.now);
  const deadline = performance.now() + withinMs;
  while (performance.now() < deadline) {
    const found = (await mailbox.list()).find((mail) => mail.to === to && subject.test(mail.subject));
    if (found) return found;
    await delay(pollMs);
  }
  throw new Error(`no mail to ${to} with a subject like ${subject} within ${withinMs} ms`);
}

/** The first link in a mail. */
export function linkIn(mail: KeptMail): URL {
  const link = /https?:\/\/\S+/.exec(mail.text)?.[0];
  if (link === undefined) throw new Error(`no link in "${mail.text}"`);
  return new URL(link);
}
