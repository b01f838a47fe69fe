// The registration form, field by field (spec 5, Register; spec 3, Payloads).

import { accept, acceptFields, type Parsed, type ParsedForm, refuse } from '../parsed.ts';
import { parseSingleLine } from '../text/single-line.ts';
import { botCheckField, parseBotCheck } from './bot-check.ts';
import { parseEmail } from './email.ts';

/** Fields in the order of the form. */
export const registrationFields = [
  'first-name',
  'last-name',
  'email',
  'company',
  'github-link',
  'twitter-link',
  'accept-terms',
  botCheckField,
] as const;

export type RegistrationField = (typeof registrationFields)[number];

export interface Registration {
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly company: string;
  readonly github: string;
  readonly x: string;
  readonly botCheck: string;
}

/** What a ticked box sends when its value attribute is missing (`on`), or ours (`true`). */
export const tickedValues: readonly string[] = ['on', 'true'];
export const personNameMaxChars = 100;
export const optionalNameMaxChars = 200;
const nameBounds = { required: true, maxChars: personNameMaxChars };
const optionalBounds = { required: false, maxChars: optionalNameMaxChars };

export function parseRegistration(
  fields: Readonly<Partial<Record<RegistrationField, string>>>,
): ParsedForm<Registration, RegistrationField> {
  const parsed = acceptFields({
    'first-name': parseSingleLine(fields['first-name'] ?? '', nameBounds),
    'last-name': parseSingleLine(fields['last-name'] ?? '', nameBounds),
    email: parseEmail(fields.email ?? ''),
    company: parseSingleLine(fields.company ?? '', optionalBounds),
    'github-link': parseSingleLine(fields['github-link'] ?? '', optionalBounds),
    'twitter-link': parseSingleLine(fields['twitter-link'] ?? '', optionalBounds),
    'accept-terms': parseAcceptTerms(fields['accept-terms'] ?? ''),
    [botCheckField]: parseBotCheck(fields[botCheckField] ?? ''),
  });
  if (!parsed.ok) return parsed;
  const { email, company, ...others } = parsed.value;
  return accept({
    email,
    firstName: others['first-name'],
    lastName: others['last-name'],
    company,
    github: others['github-link'],
    x: others['twitter-link'],
    botCheck: others[botCheckField],
  });
}

function parseAcceptTerms(value: string): Parsed<string> {
  return tickedValues.includes(value) ? accept(value) : refuse('Please accept terms of service.');
}
