// An e-mail address as people sign in with it (spec 5, Login). ASCII dot-atoms (RFC 5321 4.1.2):
// quoted local parts and comments are refused, so nothing in an address can end a mail header.

import { isCanonicalHostname } from '../names/hostname.ts';
import { accept, type Parsed, refuse } from '../parsed.ts';

export const emailMaxChars = 254;
export const emailLocalPartMaxChars = 64;

const localPart = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;

/** Lower-case throughout: an address names one account however it was typed. */
export function parseEmail(text: string): Parsed<string> {
  const trimmed = text.trim();
  if (trimmed === '') return refuse('Required.');
  const value = trimmed.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  return isEmail(value) ? accept(value) : refuse('Not a valid email address.');
}

function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@');
  if (text.length > emailMaxChars || at < 1 || at > emailLocalPartMaxChars) return false;
  const host = text.slice(at + 1);
  return localPart.test(text.slice(0, at)) && host.includes('.') && isCanonicalHostname(host);
}
