// Which names the operator's certificate files serve. Pure.

import { servingNames } from '@underpass/rules/names/hostname.ts';

export interface GivenNames {
  readonly hosts: readonly string[];
  readonly notAfterMs: number;
}

/** Tells whether a valid file serves a name; only its own serves a wildcard. */
export function compileGiven(given: readonly GivenNames[], nowMs: number): (name: string) => boolean {
  const served = new Set(given.flatMap(({ hosts, notAfterMs }) => (notAfterMs > nowMs ? hosts : [])));
  return (name) => (name.startsWith('*.') ? [name] : servingNames(name)).some((each) => served.has(each));
}
