// The log: JSON lines on standard error, without secrets.

import { type Logger, pino } from 'pino';
import type { Settings } from '../settings/settings.ts';

/** Whatever carries a secret by one of these names is left out, however deep a caller put it. */
const secretNames = ['token', 'password', 'secret', 'authorization', 'cookie', 'privateKeyPem', 'key'];

export const createLog = (level: Settings['log']): Logger =>
  pino(
    { level, redact: secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]) },
    pino.destination({ fd: 2, sync: true }),
  );
