// The public form that reports a tunnel to the operator.

import { parseHostname } from '../names/hostname.ts';
import { accept, collectErrors, type Parsed, type ParsedForm, refuse } from '../parsed.ts';
import { botCheckField, parseBotCheck } from './bot-check.ts';
import { parseEmail } from './email.ts';

export const abuseTextMaxChars = 4000;
/** Longer than any address that a browser shows. Characters past it are ignored. */
const hostMaxChars = 2048;

const abuseReportFields = ['host', 'email', 'text', botCheckField] as const;
export type AbuseReportField = (typeof abuseReportFields)[number];

export interface NewAbuseReport {
  readonly host: string;
  readonly email: string;
  readonly text: string;
  readonly botCheck: string;
}

export function parseAbuseReport(
  fields: Readonly<Partial<Record<AbuseReportField, string>>>,
): ParsedForm<NewAbuseReport, AbuseReportField> {
  const host = parseReportedHost(fields.host ?? '');
  const email = parseEmail(fields.email ?? '');
  const text = parseReportText(fields.text ?? '');
  const botCheck = parseBotCheck(fields[botCheckField] ?? '');
  if (host.ok && email.ok && text.ok && botCheck.ok) {
    return accept({ host: host.value, email: email.value, text: text.value, botCheck: botCheck.value });
  }
  return { ok: false, errors: collectErrors({ host, email, text, [botCheckField]: botCheck }) };
}

/** People paste what the address bar shows: scheme, port and path are left out. */
export function parseReportedHost(text: string): Parsed<string> {
  const trimmed = text.trim();
  if (trimmed === '') return refuse('Required.');
  const authority = /^(?:https?:\/\/)?([^/?#]*)/i.exec(trimmed.slice(0, hostMaxChars))?.[1] ?? '';
  const host = parseHostname(authority.replace(/:\d*$/, ''));
  return host?.includes('.') ? accept(host) : refuse('Please enter a valid address, such as app.example.com.');
}

function parseReportText(text: string): Parsed<string> {
  const value = text.trim();
  if (value === '') return refuse('Required.');
  if (value.length > abuseTextMaxChars)
    return refuse(`Must be at most ${abuseTextMaxChars} characters; this has ${value.length}.`);
  return accept(value);
}
