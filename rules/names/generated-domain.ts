// A made-up ingress domain under a region's wildcard domain (spec 5, Generate domain).

import { firstWords, secondWords } from '../text/word-list.ts';

type RandomIndex = (bound: number) => number;

const pickWords = (pick: RandomIndex): string =>
  `${firstWords[pick(firstWords.length)]!}-${secondWords[pick(secondWords.length)]!}`;

/** `pick(n)` gives a random integer from 0 up to, not including, n. */
export function generateDomain(wildcardDomain: string, pick: RandomIndex): string {
  return `${pickWords(pick)}.${wildcardDomain}`;
}

/** Adds a number, which makes more names when most pairs of words are taken. */
export function generateNumberedDomain(wildcardDomain: string, pick: RandomIndex): string {
  return `${pickWords(pick)}-${String(pick(1_000_000)).padStart(6, '0')}.${wildcardDomain}`;
}
