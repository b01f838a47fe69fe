// Whom a policy admits by e-mail: addresses, and `*@domain` for everybody there.

import { parseHostname } from '../names/hostname.ts';
import { accept, type Parsed, parseEach, refuse } from '../parsed.ts';
import { parseEmail } from '../people/email.ts';
import { policyLimits } from './policy-limits.ts';

const personMessage = (text: string): string => `Not an email address or '*@' and a domain: '${text}'.`;

export function parsePerson(text: string): Parsed<string> {
  const typed = text.trim();
  if (typed === '') return refuse('Required.');
  const domain = typed.startsWith('*@') ? parseHostname(typed.slice(2)) : null;
  if (domain?.includes('.')) return accept(`*@${domain}`);
  const email = parseEmail(typed);
  // The local part of an address may hold `*`, which people would take for a pattern.
  return email.ok && !email.value.includes('*') ? email : refuse(personMessage(typed));
}

export const parsePeople = (list: readonly string[]): Parsed<readonly string[]> =>
  parseEach(list, parsePerson, policyLimits.people, 'people');
