// Words that several parts of the access pages show.
import type { PathAction } from '@underpass/rules/visit/path-rule.ts';

export const membersHint = 'They sign in with their account here.';
export const peopleHint =
  'Email addresses, or *@example.com for everyone at example.com. They get a code by email. You can paste a list.';
export const peoplePlaceholder = 'ada@example.com';

export const actionLabels: Readonly<Record<PathAction, string>> = { public: 'Public', 'sign-in': 'Sign-in', deny: 'Deny' };
