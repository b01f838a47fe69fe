// Giving up an account or a project: what has to be typed before, and why it may be refused (privacy policy, Your rights).

import { accept, type Parsed, refuse } from './parsed.ts';

/** What takes the place of an e-mail address in records that stay: the audit log. */
export const deletedUser = 'deleted user';

/** Case is no proof of intent; another word is none at all. */
export function confirms(typed: string, expected: string): boolean {
  return typed.trim().toLowerCase() === expected.toLowerCase();
}

export const confirmEmailMessage = 'Type the e-mail address of your account to confirm.';
export const confirmProjectMessage = 'Type the name of the project to confirm.';

export const lastOperatorMessage = 'The last operator cannot be deleted. Make someone else an operator first.';

/** One project of somebody who wants to go. */
export interface Belonging {
  readonly name: string;
  readonly isOwner: boolean;
  readonly ownerCount: number;
  readonly memberCount: number;
  readonly suspended: boolean;
}

/** Alone in it: the project goes with the account. */
export const isAlone = ({ memberCount }: Belonging): boolean => memberCount <= 1;

const isSoleOwnerOfOthers = (project: Belonging): boolean => project.isOwner && project.ownerCount <= 1 && !isAlone(project);

const quoted = (projects: readonly Belonging[]): string => projects.map(({ name }) => `'${name}'`).join(', ');

/** Nobody leaves a project without an owner; what the operator has stopped stays until the operator has looked. */
export function decideDeparture(projects: readonly Belonging[], byOperator: boolean): Parsed<null> {
  const headless = projects.filter(isSoleOwnerOfOthers);
  if (headless.length > 0) {
    return refuse(
      `${quoted(headless)}: other people are in it, and nobody else owns it. Make someone else an owner, or delete the project first.`,
    );
  }
  const stopped = projects.filter((project) => isAlone(project) && project.suspended);
  if (stopped.length > 0 && !byOperator) return refuse(`${quoted(stopped)} is suspended. Please write to the operator.`);
  return accept(null);
}
