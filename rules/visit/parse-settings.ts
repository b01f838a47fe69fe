// The small settings of an access policy: header of tokens, length of sessions, password.

import { accept, type Parsed, refuse } from '../parsed.ts';
import { isEdgeField } from './edge-fields.ts';
import { policyLimits } from './policy-limits.ts';

export const defaultTokenHeader = 'authorization';

/** RFC 9110 5.6.2. */
const token = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const headerMaxChars = 64;
/** Fields with a meaning of their own for browsers and services. */
const commonFields = new Set([
  ...['accept', 'accept-encoding', 'content-encoding', 'content-type', 'origin', 'range', 'referer', 'set-cookie'],
  ...['trailer', 'user-agent'],
]);
const commonPrefixes = /^(?:access-control-|proxy-|sec-|underpass-)/;

/** Lower case: names of fields have no case. */
export function parseTokenHeader(text: string): Parsed<string> {
  const name = text.trim().toLowerCase();
  if (name === '') return accept(defaultTokenHeader);
  if (name.length > headerMaxChars || !token.test(name))
    return refuse("Header must be letters, digits and '-', such as 'X-Api-Key'.");
  const read = name.replaceAll('_', '-');
  if (isEdgeField(name) || commonFields.has(read) || commonPrefixes.test(read))
    return refuse(`Header '${name}' already has a meaning of its own. Choose another, such as 'X-Api-Key'.`);
  return accept(name);
}

export function parseSessionHours(hours: number): Parsed<number> {
  const { sessionHoursLeast: least, sessionHoursMost: most } = policyLimits;
  const fits = Number.isInteger(hours) && hours >= least && hours <= most;
  return fits ? accept(hours) : refuse(`Sessions must last from ${least} to ${most} hours.`);
}

/** NFC, because keyboards compose the same letter in different ways. */
export function parseVisitPassword(text: string): Parsed<string> {
  const { passwordCharsLeast: least, passwordCharsMost: most } = policyLimits;
  const password = text.normalize('NFC');
  const length = [...password].length;
  if (length < least) return refuse(`Password must be at least ${least} characters; this has ${length}.`);
  if (length > most) return refuse(`Password must be at most ${most} characters; this has ${length}.`);
  return /\p{Cc}/u.test(password) ? refuse('Password must be one line.') : accept(password);
}
