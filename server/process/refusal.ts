// Turns control's refusals and the machine's faults into errors of the command line.

import { StoreOutage } from '@underpass/control/platform/store/outage.ts';
import { Refusal } from '@underpass/control/request/http/refusal.ts';
import { ServerError } from './error.ts';

/** Turns the API's refusal into an error of the command line. */
export function translateRefusal(error: unknown): unknown {
  if (!(error instanceof Refusal)) return error;
  return new ServerError(error.code === 'missing' ? 'not-found' : 'refused', error.message);
}

interface Fault extends Error {
  /** The system's error code. */
  readonly code?: string;
  /** SQLite's error code. */
  readonly errcode?: number;
  readonly cause?: { readonly errcode?: number };
}

const sqliteFull = 13;
// CORRUPT, NOTADB.
const sqliteDamage = [11, 26];
const sqliteCode = ({ errcode, cause }: Fault): number => (errcode ?? cause?.errcode ?? 0) & 0xff;
const isNoRoom = (fault: Fault): boolean =>
  fault.code === 'ENOSPC' || fault.code === 'EDQUOT' || sqliteCode(fault) === sqliteFull;

/** Whether SQLite found its file damaged. */
export const isDamage = (error: unknown): boolean => error instanceof Error && sqliteDamage.includes(sqliteCode(error as Fault));

/** A full disk or a lost database is not a defect of the program, so the error shows no stack. */
export function translateFault(error: unknown): unknown {
  if (error instanceof ServerError || !(error instanceof Error)) return error;
  const fault = error as Fault;
  if (isNoRoom(fault)) return new ServerError('no-room', fault.message, { cause: error });
  if (isDamage(fault)) return new ServerError('database-damaged', fault.message, { cause: error });
  if (!(error instanceof StoreOutage)) return error;
  const code = fault.cause?.errcode === undefined ? 'database-unreachable' : 'database-unusable';
  return new ServerError(code, fault.message, { cause: error });
}
