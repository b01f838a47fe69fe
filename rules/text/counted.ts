// A number with its noun.

/** `1 person`, `1,200 people`; without a plural, the noun gets an s. */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count.toLocaleString('en-US')} ${count === 1 ? noun : plural}`;
