// What a provider says of a visitor, as a session keeps it: bounded, because a session travels in a cookie with every request.

import { parseEmail } from '@underpass/rules/people/email.ts';

type Said = Readonly<Record<string, unknown>>;

const subjectMaxChars = 255;
const groupsMost = 50;
const groupMaxChars = 200;
/** Bytes of all groups together. A session has at most 3.5 kB (wire/ticket/signed-visit.ts). */
const groupsMaxBytes = 1_000;

/** OpenID Connect Core 5.1. Some providers send the flag as a text, and some never; any other value vouches for nothing. */
function emailOf(said: Said): string {
  const { email, email_verified: isVerified } = said;
  if (typeof email !== 'string' || ![true, 'true', undefined].includes(isVerified as boolean | string | undefined)) return '';
  const parsed = parseEmail(email);
  return parsed.ok ? parsed.value : '';
}

function listOf(value: unknown): string[] {
  const list = Array.isArray(value) ? value : [value];
  return list.filter((one): one is string => typeof one === 'string' && one !== '' && one.length <= groupMaxChars);
}

/** Puts the groups that the policy names first, so that a person in very many groups keeps the ones that admit them. */
function boundedGroups(value: unknown, named: readonly string[]): string[] {
  const all = [...new Set(listOf(value))];
  const ordered = [...all.filter((group) => named.includes(group)), ...all.filter((group) => !named.includes(group))];
  let left = groupsMaxBytes;
  return ordered.slice(0, groupsMost).filter((group) => {
    left -= Buffer.byteLength(JSON.stringify(group)) + 1;
    return left >= 0;
  });
}

export interface Person {
  readonly subject: string;
  readonly email: string;
  readonly groups: readonly string[];
}

/** Undefined without a usable subject. `named`: the groups that the policy admits. */
export function readPerson(said: Said, groupClaim: string, named: readonly string[]): Person | undefined {
  const { sub } = said;
  if (typeof sub !== 'string' || sub === '' || sub.length > subjectMaxChars) return undefined;
  return { subject: sub, email: emailOf(said), groups: boundedGroups(said[groupClaim], named) };
}

/** Whether the ID token leaves out what the policy decides by; then the userinfo endpoint is asked. */
export const isIncomplete = (said: Said, groupClaim: string, named: readonly string[]): boolean =>
  said.email === undefined || (named.length > 0 && said[groupClaim] === undefined);
