// A made-up ingress domain under a region's wildcard domain (spec 5, Generate domain; design 9).

import { firstWords, secondWords } from './word-list.ts';

/** How many names there are under one wildcard domain; control asks again when one is taken. */
export const generatedNameCount = firstWords.length * secondWords.length;

/** `pick(n)` gives a random integer from 0 up to, not including, n. */
export function generateDomain(wildcardDomain: string, pick: (bound: number) => number): string {
  const first = firstWords[pick(firstWords.length)]!;
  const second = secondWords[pick(secondWords.length)]!;
  return `${first}-${second}.${wildcardDomain}`;
}

/** True for exactly one label below the wildcard domain: nobody may claim such a name by hand. */
export function isUnderWildcard(host: string, wildcardDomain: string): boolean {
  const dot = host.indexOf('.');
  return dot > 0 && host.slice(dot + 1) === wildcardDomain;
}
