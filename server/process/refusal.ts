// Refusals of control, and faults of the machine, as errors of the command line.

import { Refusal } from '@underpass/control/http/refusal.ts';
import { StoreOutage } from '@underpass/control/store/outage.ts';
import { ServerError } from './error.ts';

/** What the API would answer becomes an error of the command line. */
export function translateRefusal(error: unknown): unknown {
  if (!(error instanceof Refusal)) return error;
  return new ServerError(error.code === 'missing' ? 'not-found' : 'refused', error.message);
}

interface Fault extends Error {
  /** Of the system. */
  readonly code?: string;
  /** Of SQLite. */
  readonly errcode?: number;
  readonly cause?: { readonly errcode?: number };
}

const sqliteFull = 13;
const isNoRoom = ({ code, errcode, cause }: Fault): boolean =>
  code === 'ENOSPC' || code === 'EDQUOT' || ((errcode ?? cause?.errcode ?? 0) & 0xff) === sqliteFull;

/** A full disk and a database that went away are nobody's defect. */
export function translateFault(error: unknown): unknown {
  if (error instanceof ServerError || !(error instanceof Error)) return error;
  const fault = error as Fault;
  if (isNoRoom(fault)) return new ServerError('no-room', fault.message, { cause: error });
  if (!(error instanceof StoreOutage)) return error;
  const code = fault.cause?.errcode === undefined ? 'database-unreachable' : 'database-unusable';
  return new ServerError(code, fault.message, { cause: error });
}
