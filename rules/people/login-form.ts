// The sign-in form: an e-mail address and the bot check (spec 5, Login).

import { accept, collectErrors, type ParsedForm } from '../parsed.ts';
import { botCheckField, parseBotCheck } from './bot-check.ts';
import { parseEmail } from './email.ts';

export type LoginField = 'email' | typeof botCheckField;

export interface Login {
  readonly email: string;
  readonly botCheck: string;
}

export function parseLoginForm(fields: Readonly<Partial<Record<LoginField, string>>>): ParsedForm<Login, LoginField> {
  const email = parseEmail(fields.email ?? '');
  const botCheck = parseBotCheck(fields[botCheckField] ?? '');
  if (email.ok && botCheck.ok) return accept({ email: email.value, botCheck: botCheck.value });
  return { ok: false, errors: collectErrors({ email, [botCheckField]: botCheck }) };
}
