// Sends mail over SMTP, with timeouts. The job queue tries again after an error that may pass.

import { createTransport } from 'nodemailer';
import type { Dependency } from '../dependency/dependency.ts';
import { type SendMail, unsubscribeFields } from './mail.ts';
import { NoSuchAddress } from './no-such-address.ts';

const timeoutMs = 15_000;

/**
 * RFC 3463 3.2: the recipient's address is wrong, not the sender's (X.1.7, X.1.8) and not an unknown fault (X.1.0).
 * A 550 without such a code may be caused by our own settings.
 */
const noSuchAddress = /^5\d\d[ -]5\.1\.(?![078]\b)/;

interface SmtpError extends Error {
  readonly command?: string;
  readonly response?: string;
}

const translate = (error: SmtpError): Error =>
  error.command === 'RCPT TO' && noSuchAddress.test(error.response ?? '') ? new NoSuchAddress(error.message) : error;

interface SmtpMail {
  readonly send: SendMail;
  close(): void;
}

/** `url` such as smtps://user:password@mail.example.com; plain smtp:// upgrades by STARTTLS if the server offers it. */
export function createSmtpMail(url: string, from: string, dependency?: Dependency): SmtpMail {
  const transport = createTransport(
    { url, connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs },
    // A mail is text: nothing in it may name a file or an address to be read.
    { from, disableFileAccess: true, disableUrlAccess: true, headers: { 'Auto-Submitted': 'auto-generated' } },
  );
  return {
    send: async (mail) => {
      const { to, subject, text } = mail;
      // An address object is never parsed as a list of addresses.
      try {
        await transport.sendMail({ to: { name: '', address: to }, subject, text, headers: unsubscribeFields(mail) });
        dependency?.answered();
      } catch (error) {
        // A server that refuses one recipient answers.
        if ((error as SmtpError).command === 'RCPT TO') dependency?.answered();
        else dependency?.failed(error);
        throw translate(error as SmtpError);
      }
    },
    close: () => transport.close(),
  };
}
