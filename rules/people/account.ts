// Deleting an account or a project: what the person types to confirm, and the reasons to refuse (privacy policy, Your rights).

import { accept, type Parsed, refuse } from '../parsed.ts';

/** Replaces the e-mail address in the audit log, which stays. */
export const deletedUser = 'deleted user';

/** Upper and lower case count as equal; any other difference refuses. */
export function confirms(typed: string, expected: string): boolean {
  return typed.trim().toLowerCase() === expected.toLowerCase();
}

export const confirmEmailMessage = 'Type the email address of your account to confirm.';
export const confirmProjectMessage = 'Type the name of the project to confirm.';

export const lastOperatorMessage = 'The last operator cannot be deleted. Make someone else an operator first.';

/** A project of the person whose account is deleted. */
export interface Belonging {
  readonly name: string;
  readonly isOwner: boolean;
  readonly ownerCount: number;
  readonly memberCount: number;
  readonly suspended: boolean;
}

/** The only member: the project is deleted with the account. */
export const isAlone = ({ memberCount }: Belonging): boolean => memberCount <= 1;

const isSoleOwnerOfOthers = (project: Belonging): boolean => project.isOwner && project.ownerCount <= 1 && !isAlone(project);

const quoted = (projects: readonly Belonging[]): string => projects.map(({ name }) => `'${name}'`).join(', ');

/** Refuses to leave a project without an owner, and to delete what the operator has suspended. */
export function decideDeparture(projects: readonly Belonging[], byOperator: boolean): Parsed<null> {
  const headless = projects.filter(isSoleOwnerOfOthers);
  if (headless.length > 0) {
    return refuse(
      `${quoted(headless)}: its other members would be left without an owner. Make one of them an owner, or delete the project first.`,
    );
  }
  const stopped = projects.filter((project) => isAlone(project) && project.suspended);
  if (stopped.length > 0 && !byOperator) return refuse(`${quoted(stopped)} is suspended. Please write to the operator.`);
  return accept(null);
}

export const invitedOnlyMessage =
  'An invitation approved your account, for projects of others. Ask the operator to let you create your own.';
