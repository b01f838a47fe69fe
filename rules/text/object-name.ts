// The name of a security group or an access policy within its project (spec 5, Security group name). It becomes a path segment.

import { accept, type Parsed, refuse } from '../parsed.ts';

export const objectNameMaxChars = 63;
/** Starts and ends with a letter or digit: `..` and `.` never become a path segment. */
export const objectNamePattern = /^[A-Za-z0-9](?:[A-Za-z0-9 ._-]*[A-Za-z0-9])?$/;

export function parseObjectName(text: string): Parsed<string> {
  const name = text.trim();
  if (name === '') return refuse('Name is required.');
  if (name.length > objectNameMaxChars) {
    return refuse(`Name must be at most ${objectNameMaxChars} characters; this has ${name.length}.`);
  }
  if (!objectNamePattern.test(name)) {
    return refuse("Name must be letters, digits, spaces, '.', '-' or '_', and start and end with a letter or digit.");
  }
  return accept(name);
}
