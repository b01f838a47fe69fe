// The text of every mail: a subject and plain text, made by pure functions. Without HTML there is nothing to sanitise or to track.

import { alertLimits, durations } from '@underpass/rules/limits.ts';
import { counted } from '@underpass/rules/text/counted.ts';
import { productName } from '@underpass/rules/text/text.ts';
import { type AlertEnd, type AlertFacts, describeAlert } from '@underpass/rules/tunnel/alert.ts';

export interface MailText {
  readonly subject: string;
  readonly text: string;
}

const compose = (subject: string, ...paragraphs: readonly string[]): MailText => ({
  subject,
  text: `${paragraphs.join('\n\n')}\n\n-- \n${productName}\n`,
});

const shownNameChars = 40;
/** Mail programs turn texts with these characters into links and phone numbers. */
const linkish = /[\d.:/@]/;

/**
 * The name if a mail may contain it, else an empty string. Anybody may register somebody else's address. A "name" that is
 * a message or a link would reach that stranger, or the operator, in our name.
 */
export const plainName = (name: string): string => (name.length > shownNameChars || linkish.test(name) ? '' : name);

const hello = (firstName: string): string => (plainName(firstName) === '' ? 'Hello,' : `Hello ${firstName},`);

/** What a link does not do for a person who has a passkey: they must not rely on the mailbox alone. */
const linkLimits =
  'Your account has a passkey. After signing in by this link, you confirm with the passkey or a recovery code before you can invite people, create tokens, sign in terminals, change roles and passkeys, or end other sign-ins.';

export const loginLinkMail = (firstName: string, url: string, hasPasskey: boolean): MailText =>
  compose(
    `Your ${productName} login link`,
    hello(firstName),
    'Open this link to sign in:',
    url,
    ...(hasPasskey ? [linkLimits] : []),
    `The link works once and expires after ${durations.loginLinkMinutes} minutes. If you did not ask for it, ignore this email: nobody can sign in without the link.`,
  );

export const proofLinkMail = (firstName: string, url: string): MailText =>
  compose(
    `Confirm it is you on ${productName}`,
    hello(firstName),
    'Open this link in the browser that asked you to confirm:',
    url,
    `The link works once, only in that browser, and expires after ${durations.loginLinkMinutes} minutes. If you did not ask for it, do not open it: someone may be using your account. Sign out your other sessions on the Account page.`,
  );

export interface InvitedFacts {
  readonly projectName: string;
  readonly invitedBy: string;
}

export const registrationReceivedMail = (firstName: string, invited?: InvitedFacts): MailText =>
  compose(
    `Your ${productName} registration`,
    hello(firstName),
    `We have received your registration for the ${productName} cloud preview. We will email you again once we have decided.`,
    ...(invited === undefined
      ? []
      : [`That email will have a link to join ${projectOf(invited.projectName)}, to which ${invited.invitedBy} invited you.`]),
  );

/** The mail that replaces a login link for an invited person without an account. */
export const registerFirstMail = ({ projectName, invitedBy }: InvitedFacts, origin: string): MailText =>
  compose(
    `You have no ${productName} account yet`,
    'Hello,',
    `You asked to sign in, but this email address has no account yet. ${invitedBy} invited you to ${projectOf(projectName)}: open the link in the email of the invitation and choose "Create an account".`,
    `If you no longer have it, ask ${invitedBy} to invite you again, or register without it: ${origin}/register`,
    'If you did not ask to sign in, there is nothing to do.',
  );

/** The mail that replaces a login link while a registration waits. */
export const registrationWaitsMail = (firstName: string): MailText =>
  compose(
    `Your ${productName} registration`,
    hello(firstName),
    'You asked to sign in. Your registration is not approved yet, so there is no login link in this email. We will email you again once we have decided.',
    'If you did not ask to sign in, there is nothing to do.',
  );

export const registrationApprovedMail = (firstName: string, origin: string, invitation?: InvitationFacts): MailText =>
  compose(
    `Welcome to ${productName}`,
    hello(firstName),
    `Your registration has been approved. Sign in with this email address: ${origin}/login`,
    ...(invitation === undefined
      ? []
      : [`To join ${projectOf(invitation.projectName)}, to which ${invitation.invitedBy} invited you, open:`, invitation.url]),
  );

export const registrationRejectedMail = (firstName: string): MailText =>
  compose(
    `Your ${productName} registration`,
    hello(firstName),
    `We cannot approve your registration for the ${productName} cloud preview at this time. If you think this is a mistake, reply to this email.`,
  );

const projectOf = (name: string): string => (plainName(name) === '' ? 'a project' : `the project "${name}"`);

export interface InvitationFacts extends InvitedFacts {
  readonly url: string;
}

/** What the person has to do after they open the link. The mail goes to them alone, so it may say whether they have an account. */
const nextSteps = {
  'sign-in': 'Sign in with this email address, then join.',
  register: 'You need an account: create one with this email address, sign in by the link that we mail you, then join.',
  'register-and-wait':
    'You need an account: create one with this email address. An operator must approve it first. Then we email you the link again.',
} as const;

export const invitationMail = ({ projectName, invitedBy, url }: InvitationFacts, next: keyof typeof nextSteps): MailText =>
  compose(
    `Join a project on ${productName}`,
    'Hello,',
    `${invitedBy} invites you to ${projectOf(projectName)} on ${productName}. To accept, open:`,
    url,
    nextSteps[next],
    `The invitation works once, only for this email address, and expires after ${durations.invitationDays} days. If you do not know ${invitedBy}, ignore this email.`,
  );

export const accountDeletedMail = (firstName: string): MailText =>
  compose(
    `Your ${productName} account is deleted`,
    hello(firstName),
    'Your account has been deleted, with every project in which you were the only member. The tunnels, domains, security groups and tokens of those projects no longer work.',
    'The audit logs of other projects keep the changes that you made, without your name or address. If you did not ask for this, reply to this email now.',
  );

/** What a person must be able to notice when it was not them. `origin` leads to the page that undoes it. */
const noticeMail = (subject: string, origin: string, news: string, undo: string): MailText =>
  compose(subject, 'Hello,', news, `If you expected this, ignore this email. If not, ${undo}`, `${origin}/account`);

const quoted = (name: string, otherwise: string): string => (plainName(name) === '' ? otherwise : `"${name}"`);

const passkeyOf = (name: string): string => (plainName(name) === '' ? 'A passkey' : `The passkey "${name}"`);

interface Occasion {
  readonly address: string;
  readonly nowMs: number;
}

const from = ({ address, nowMs }: Occasion): string => `from ${address}, at ${new Date(nowMs).toISOString()}`;

export const newSignInMail = (browser: string, occasion: Occasion, by: 'link' | 'passkey', origin: string): MailText =>
  noticeMail(
    `New sign-in to ${productName}`,
    origin,
    `Someone signed in to your account from a new browser: ${plainName(browser) || 'unknown'}, ${from(occasion)}.`,
    by === 'link'
      ? 'press "Sign out everywhere else" on your account page, and secure your mailbox, because the login link was sent there.'
      : 'press "Sign out everywhere else" on your account page, and remove passkeys that you do not recognise.',
  );

interface NewTokenFacts extends Occasion {
  readonly name: string;
  readonly role: string;
  readonly projectName: string;
  readonly cli: boolean;
}

export const newTokenMail = ({ name, role, projectName, cli, ...occasion }: NewTokenFacts, origin: string): MailText =>
  noticeMail(
    cli ? `A terminal was signed in to ${productName}` : `New API token on ${productName}`,
    origin,
    `${cli ? 'A terminal was signed in' : 'An API token was created'} in your name: ${quoted(name, 'its name is not shown here')}, as ${role} of ${quoted(projectName, 'a project')}, ${from(occasion)}.`,
    'revoke it on your account page, and sign out everywhere else.',
  );

export const newOwnerMail = (owner: string, by: string, projectName: string, origin: string): MailText =>
  noticeMail(
    `New owner of a project on ${productName}`,
    origin,
    `${owner} is now an owner of ${quoted(projectName, 'a project')} that you own too. ${by === owner ? 'They accepted an invitation.' : `${by} made the change.`}`,
    'change the role back on the Members page of the project, and sign out everywhere else.',
  );

export const newOperatorMail = (operator: string, by: string, origin: string): MailText =>
  noticeMail(
    `New operator of ${productName}`,
    origin,
    `${operator} is now an operator of this installation. ${by === 'operator' ? 'A command on the server made the change.' : `${by} made the change.`}`,
    'revoke the rights on the Users page for operators, and sign out everywhere else.',
  );

/** What happened to a person's passkeys or recovery codes. */
export type PasskeyNews =
  | { readonly kind: 'added' | 'removed'; readonly name: string }
  | { readonly kind: 'removed-by-operator' | 'codes-made' }
  | { readonly kind: 'code-used'; readonly left: number };

function passkeySentence(news: PasskeyNews): string {
  switch (news.kind) {
    case 'added':
      return `${passkeyOf(news.name)} was added to your account. It can sign you in without an email.`;
    case 'removed':
      return `${passkeyOf(news.name)} was removed from your account. It can no longer sign you in.`;
    case 'removed-by-operator':
      return 'The operator of the service removed all passkeys and recovery codes from your account. Sign in with your email address, then add a new passkey.';
    case 'codes-made':
      return 'New recovery codes were created for your account. Earlier codes no longer work.';
    case 'code-used':
      return `A recovery code of your account was used. Codes left: ${news.left}.`;
  }
}

export const passkeyMail = (news: PasskeyNews, origin: string): MailText =>
  noticeMail(
    `The passkeys of your ${productName} account`,
    origin,
    passkeySentence(news),
    'remove passkeys that you do not recognise on your account page, and sign out everywhere else.',
  );

interface AccessCodeFacts {
  readonly code: string;
  readonly host: string;
  readonly projectName: string;
}

/** The mail to a visitor of a tunnel. The code is not in the subject, which locked screens show. */
export const accessCodeMail = ({ code, host, projectName }: AccessCodeFacts): MailText =>
  compose(
    `Your code for ${host}`,
    'Hello,',
    `Enter this code to sign in to ${host}, a service of ${projectOf(projectName)}:`,
    code,
    `The code works once, only in the browser that asked for it, and expires after ${durations.accessCodeMinutes} minutes. If you did not ask for it, ignore this email, and do not share the code.`,
  );

interface CertificateTroubleFacts {
  readonly name: string;
  readonly failures: number;
  readonly why: string;
  readonly expiresAt: number | undefined;
}

/** The mail to the operator. */
export function certificateTroubleMail({ name, failures, why, expiresAt }: CertificateTroubleFacts): MailText {
  const left =
    expiresAt === undefined
      ? 'There is no valid certificate.'
      : `The one in use expires at ${new Date(expiresAt).toISOString()}.`;
  const single = name.startsWith('*.')
    ? 'Until then, each name under it gets its own certificate, as far as the rate limits of the authority allow.'
    : 'Clients of the region cannot connect without it.';
  return compose(
    `No certificate for ${name}`,
    'Hello,',
    `Underpass failed to get a certificate for ${name}, ${failures} times in a row. ${left} ${single}`,
    `The last error: ${why}`,
    'Underpass tries again, at least daily. "Incidents" in docs/operations.md says what to check.',
  );
}

export const domainLostMail = (apexName: string, origin: string): MailText =>
  compose(
    `${apexName} is no longer verified`,
    'Hello,',
    `The DNS record that proves you own ${apexName} has been missing for three days, so tunnels no longer serve this domain.`,
    `To verify it again, set the record and press Refresh on the domain's page: ${origin}`,
  );

/** What happened to one alert: it opened, or it closed too. */
export interface AlertNews {
  readonly facts: AlertFacts;
  readonly openedMs: number;
  readonly closedMs?: number;
  readonly end: AlertEnd;
}

interface AlertMailFacts {
  readonly project: string;
  /** The oldest first; at least one. */
  readonly news: readonly AlertNews[];
  /** The time of the mail before: what opened before it was in that one. */
  readonly afterMs: number;
}

/** `2026-11-27 13:17 UTC` */
const atMinute = (at: number | string): string => `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

/** The name of a token is what somebody typed. */
const inMail = ({ tokenName, ...facts }: AlertFacts): AlertFacts =>
  tokenName === undefined ? facts : { ...facts, tokenName: plainName(tokenName) || '(not shown here)' };

function renderNews({ facts, openedMs, closedMs, end }: AlertNews, afterMs: number): string {
  const began = atMinute(facts.since ?? openedMs);
  if (closedMs === undefined) {
    const { title, text } = describeAlert(inMail(facts));
    const until = facts.until === undefined ? '' : ` Until ${atMinute(facts.until)}.`;
    return `${title}. ${text}${until || ` Since ${began}.`}`;
  }
  const over = describeAlert(inMail(facts), end);
  const before = openedMs > afterMs ? ` ${describeAlert(inMail(facts)).text}` : '';
  return `${over.title}.${over.text && ` ${over.text}`} From ${began} to ${atMinute(closedMs)}.${before}`;
}

/** The tunnels that news is about, if it is about nothing else. */
function countTunnels(news: readonly AlertNews[], isOver: boolean): number {
  const alike = news.every(({ facts, closedMs }) => facts.kind === 'tunnel-down' && (closedMs !== undefined) === isOver);
  return alike ? news.length : 0;
}

function alertSubject(project: string, news: readonly AlertNews[]): string {
  const place = quoted(project, 'your project');
  const { facts, closedMs, end } = news[0]!;
  const { title } = describeAlert(inMail(facts), closedMs === undefined ? undefined : end);
  if (news.length === 1) return `${title} (${place})`;
  if (countTunnels(news, false) > 0) return `${counted(news.length, 'tunnel')} are down (${place})`;
  if (countTunnels(news, true) > 0) return `${counted(news.length, 'tunnel')} are back (${place})`;
  return `${title}, and ${counted(news.length - 1, 'other alert')} (${place})`;
}

/** The job adds the links: to the alerts, and to end the mails. */
export function alertMail({ project, news, afterMs }: AlertMailFacts): MailText {
  const lines = news.slice(0, alertLimits.mailLines).map((each) => `* ${renderNews(each, afterMs)}`);
  const more = news.length - lines.length;
  return {
    subject: alertSubject(project, news),
    text: [...lines, ...(more > 0 ? [`And ${counted(more, 'more alert')}.`] : [])].join('\n\n'),
  };
}

interface AlertMailLinks {
  readonly alerts: string;
  readonly unsubscribe: string;
}

export const withAlertLinks = ({ subject, text }: MailText, { alerts, unsubscribe }: AlertMailLinks): MailText =>
  compose(
    subject,
    text,
    `All alerts of the project: ${alerts}`,
    `You get at most one such mail in ${alertLimits.digestMinutes} minutes. To get none of this project: ${unsubscribe}`,
  );

export const webhookDisabledMail = (project: string, url: string): MailText =>
  compose(
    `The webhook of ${quoted(project, 'your project')} is switched off`,
    'Hello,',
    `Every delivery of alerts to the webhook of ${projectOf(project)} has failed for three days, or its receiver asked for no more. Nothing is sent to it now. Alert mails go on.`,
    'Mend the receiver, then switch the webhook on again. The page shows what failed, and can send it again:',
    url,
  );
