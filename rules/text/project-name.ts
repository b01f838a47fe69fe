// The name of a project, and of what a person names inside one: an API token, a device.

import { limits } from '../limits.ts';
import type { Parsed } from '../parsed.ts';
import { parseSingleLine } from './single-line.ts';

export function parseProjectName(text: string): Parsed<string> {
  return parseSingleLine(text, { required: true, maxChars: limits.projectNameChars });
}

export function parseApiTokenName(text: string): Parsed<string> {
  return parseSingleLine(text, { required: true, maxChars: limits.apiTokenNameChars });
}
