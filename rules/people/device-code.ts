// The short code that a person carries from a terminal to the browser when the CLI signs in.

import { createTypedCode } from '../text/typed-code.ts';

/** 20^8 is 2.5e10, tried 20 times per quarter hour. */
export const {
  pattern: userCodePattern,
  generate: generateUserCode,
  parse: parseUserCode,
} = createTypedCode(2, 4, 'Enter the code that the terminal shows, such as BCDF-GHJK.');
