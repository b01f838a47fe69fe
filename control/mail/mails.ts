// The words of every mail. Pure: each renders to a subject and plain text. No HTML: nothing to sanitise or to track.

import { durations } from '@underpass/rules/limits.ts';
import { productName } from '@underpass/rules/text.ts';

export interface MailText {
  readonly subject: string;
  readonly text: string;
}

const compose = (subject: string, ...paragraphs: readonly string[]): MailText => ({
  subject,
  text: `${paragraphs.join('\n\n')}\n\n-- \n${productName}\n`,
});

const shownNameChars = 40;
/** Mail programs make links of these, and numbers to call. */
const linkish = /[\d.:/@]/;

/**
 * A name as a mail may say it. Anybody may register anybody's address: a name that is a message of its own, or a link,
 * would reach a stranger, or the operator, in our name.
 */
export const plainName = (name: string): string => (name.length > shownNameChars || linkish.test(name) ? '' : name);

const hello = (firstName: string): string => (plainName(firstName) === '' ? 'Hello,' : `Hello ${firstName},`);

export const loginLinkMail = (firstName: string, url: string): MailText =>
  compose(
    `Your ${productName} login link`,
    hello(firstName),
    'open this link to sign in:',
    url,
    `It works once, within ${durations.loginLinkMinutes} minutes. If you did not ask for it, ignore this mail: nothing happens without the link.`,
  );

export const registrationReceivedMail = (firstName: string): MailText =>
  compose(
    `Your ${productName} registration`,
    hello(firstName),
    `we have received your registration for the ${productName} cloud preview. You will receive another mail once it has been decided.`,
  );

export const registrationApprovedMail = (firstName: string, origin: string): MailText =>
  compose(
    `Welcome to ${productName}`,
    hello(firstName),
    `your registration has been approved. Sign in with this e-mail address at ${origin}/login`,
  );

export const registrationRejectedMail = (firstName: string): MailText =>
  compose(
    `Your ${productName} registration`,
    hello(firstName),
    `we cannot approve your registration for the ${productName} cloud preview at this time. Reply to this mail if you think that this is a mistake.`,
  );

export interface InvitationFacts {
  readonly projectName: string;
  readonly invitedBy: string;
  readonly url: string;
  readonly origin: string;
}

export const invitationMail = ({ projectName, invitedBy, url, origin }: InvitationFacts): MailText =>
  compose(
    `Join a project on ${productName}`,
    'Hello,',
    `${invitedBy} invites you to ${plainName(projectName) === '' ? 'a project' : `the project "${projectName}"`}. Sign in with this e-mail address, then open:`,
    url,
    `The invitation works once, within ${durations.invitationDays} days. If you have no account yet, register first: ${origin}/register`,
  );

export const accountDeletedMail = (firstName: string): MailText =>
  compose(
    `Your ${productName} account is deleted`,
    hello(firstName),
    'your account has been deleted, with the projects that nobody else was in: their tunnels, domains, security groups and tokens have stopped working.',
    'The audit logs of other projects keep what was changed, without your name or address. If it was not you who asked for this, reply to this mail at once.',
  );

export interface CertificateTroubleFacts {
  readonly name: string;
  readonly failures: number;
  readonly why: string;
  readonly expiresAt: number | undefined;
}

/** To the operator. */
export const certificateTroubleMail = ({ name, failures, why, expiresAt }: CertificateTroubleFacts): MailText => {
  const left =
    expiresAt === undefined ? 'There is none that is valid.' : `The one in use ends at ${new Date(expiresAt).toISOString()}.`;
  const single = name.startsWith('*.')
    ? 'Until it can be had, each name under it gets a certificate of its own where the budget of the authority allows.'
    : 'Clients of the region cannot connect without it.';
  return compose(
    `No certificate for ${name}`,
    'Hello,',
    `the certificate of ${name} could not be had, ${failures} times in a row. ${left} ${single}`,
    `The last error: ${why}`,
    'It is tried again, daily at least. "Incidents" in the documentation of operations says what to look at.',
  );
};

export const domainLostMail = (apexName: string, origin: string): MailText =>
  compose(
    `${apexName} is no longer verified`,
    'Hello,',
    `the DNS record that proves the ownership of ${apexName} has been missing for three days, so its tunnels have stopped serving it.`,
    `Set the record again and press Refresh on the domain's page: ${origin}`,
  );
