// The log: JSON lines on standard error, without secrets. Nothing waits for its reader.

import { createLogOutput } from '@underpass/edge/process/log-output.ts';
import { type Logger, pino } from 'pino';
import type { Settings } from '../settings/settings.ts';

/** The log leaves out fields with these names, down to the third level of an entry. */
const secretNames = ['token', 'password', 'secret', 'authorization', 'cookie', 'privateKeyPem', 'key'];

export const createLog = (level: Settings['log']): Logger =>
  pino({ level, redact: secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]) }, createLogOutput());
