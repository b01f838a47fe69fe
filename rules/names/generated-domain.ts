// A made-up ingress domain under a region's wildcard domain (spec 5, Generate domain).

import { firstWords, secondWords } from '../text/word-list.ts';

type Pick = (bound: number) => number;

const pickWords = (pick: Pick): string => `${firstWords[pick(firstWords.length)]!}-${secondWords[pick(secondWords.length)]!}`;

/** `pick(n)` gives a random integer from 0 up to, not including, n. */
export function generateDomain(wildcardDomain: string, pick: Pick): string {
  return `${pickWords(pick)}.${wildcardDomain}`;
}

/** For when most pairs of words are taken: the number makes more. */
export function generateNumberedDomain(wildcardDomain: string, pick: Pick): string {
  return `${pickWords(pick)}-${String(pick(1_000_000)).padStart(6, '0')}.${wildcardDomain}`;
}
