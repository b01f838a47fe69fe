// The name of a project, and of what a person names inside one: an API token, a device.

import { limits } from '../limits.ts';
import type { Parsed } from '../parsed.ts';
import { parseSingleLine } from './single-line.ts';

export function parseProjectName(text: string): Parsed<string> {
  return parseSingleLine(text, { required: true, maxChars: limits.projectNameChars });
}

/** The first project of a person is named after their company, else after them. Their own fields may be longer. */
export const firstProjectName = (company: string, person: string): string =>
  [...(company === '' ? person : company)].slice(0, limits.projectNameChars).join('').trim();

export function parseApiTokenName(text: string): Parsed<string> {
  return parseSingleLine(text, { required: true, maxChars: limits.apiTokenNameChars });
}
