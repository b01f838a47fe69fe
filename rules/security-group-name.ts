// The name of a security group within its project (spec 5, Security group name). It becomes a path segment.

import { accept, type Parsed, refuse } from './parsed.ts';

/** Seeded in every project, cannot be deleted, and is what a tunnel gets when nothing else is chosen. */
export const defaultSecurityGroupName = 'default';
export const securityGroupNameMaxChars = 63;
/** Starts and ends with a letter or digit: `..` and `.` never become a path segment. */
export const securityGroupNamePattern = /^[A-Za-z0-9](?:[A-Za-z0-9 ._-]*[A-Za-z0-9])?$/;

export function parseSecurityGroupName(text: string): Parsed<string> {
  const name = text.trim();
  if (name === '') return refuse('Name is required.');
  if (name.length > securityGroupNameMaxChars) {
    return refuse(`Name must be at most ${securityGroupNameMaxChars} characters; this has ${name.length}.`);
  }
  if (!securityGroupNamePattern.test(name)) {
    return refuse("Name must be letters, digits, spaces, '.', '-' or '_', and start and end with a letter or digit.");
  }
  return accept(name);
}

export function mayDeleteSecurityGroup(name: string): boolean {
  return name !== defaultSecurityGroupName;
}

/** What the update panel offers: the project's groups, or `default` if there are none (spec 2, Update tunnel panel). */
export function securityGroupChoices(names: readonly string[]): readonly string[] {
  return names.length === 0 ? [defaultSecurityGroupName] : names;
}
