// Sends mail over SMTP. Bounded in time; the queue tries again.

import { createTransport } from 'nodemailer';
import type { SendMail } from '../deps.ts';

const timeoutMs = 15_000;

export interface SmtpMail {
  readonly send: SendMail;
  close(): void;
}

/** `url` such as smtps://user:password@mail.example.com; plain smtp:// upgrades by STARTTLS where it is offered. */
export const createSmtpMail = (url: string, from: string): SmtpMail => {
  const transport = createTransport(
    { url, connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs },
    // A mail is text: nothing in it may name a file or an address to be read.
    { from, disableFileAccess: true, disableUrlAccess: true, headers: { 'Auto-Submitted': 'auto-generated' } },
  );
  return {
    send: async ({ to, subject, text }) => {
      // An address object is never parsed as a list of addresses.
      await transport.sendMail({ to: { name: '', address: to }, subject, text });
    },
    close: () => transport.close(),
  };
};
