// Which names need a certificate from the authority now. Pure.

import { isWildcardName, servingNames } from '@underpass/rules/names/hostname.ts';
import { compileGiven, type GivenNames } from '../../feed/core/given-names.ts';
import { type Attempt, failuresInARow } from './budget.ts';
import { isCovering } from './cover.ts';
import type { Lifetime } from './renewal.ts';

/** A host or a wildcard, and whose share of the budgets it takes. */
export interface WantedName extends Pick<Attempt, 'name' | 'projectId' | 'ownerId'> {
  readonly region: string;
}

export interface HeldCertificate extends Lifetime {
  readonly name: string;
  readonly issuer: string;
}

/** What the store and the operator's files hold when a pass begins. */
export interface Holdings {
  readonly held: ReadonlyMap<string, HeldCertificate>;
  readonly attempts: readonly Attempt[];
  readonly given: readonly GivenNames[];
}

/** The names of certificates that serve this one: a wildcard is served only by its own. */
export const namesServing = (name: string): readonly string[] => (isWildcardName(name) ? [name] : servingNames(name));

/**
 * The names that the authority has to cover: our own, and the hosts of tunnels that none of our wildcards covers, unless a given
 * file serves them.
 */
export function namesToCover(
  own: readonly WantedName[],
  hosts: readonly WantedName[],
  { held, attempts, given }: Holdings,
  nowMs: number,
): readonly WantedName[] {
  const names = own.map(({ name }) => name).filter(isWildcardName);
  const covering = names.filter((name) => isCovering(held.get(name), failuresInARow(attempts, name).count, nowMs));
  const uncovered = hosts.filter(({ name }) => !covering.includes(servingNames(name)[1]));
  const isGiven = compileGiven(given, nowMs);
  return [...own, ...uncovered].filter(({ name }) => !isGiven(name));
}
