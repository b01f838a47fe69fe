// Why a client could not work: the edge refused it, or its upstream does not answer.

/** Each code in the middle of a sentence. */
export const clientErrors = {
  'token-refused': 'token refused',
  'tunnel-suspended': 'tunnel suspended',
  'too-many-clients': 'too many clients',
  version: 'client version not supported',
  'upstream-down': 'upstream does not answer',
} as const;

export type ClientErrorName = keyof typeof clientErrors;

/** The errors of clients that an edge did not let in. */
export const isRefusal = (code: ClientErrorName): boolean => code !== 'upstream-down';
