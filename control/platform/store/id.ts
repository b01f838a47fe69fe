// Row ids: 10 characters of time and 16 of randomness, so that they sort by creation and never repeat.

import { randomBytes } from 'node:crypto';

// Crockford's alphabet in lower case: the same order in SQLite and in every Postgres collation.
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const timeLength = 10;
const randomLength = 16;

function encodeTime(ms: number): string {
  let text = '';
  for (let rest = ms, i = 0; i < timeLength; i++, rest = Math.floor(rest / 32)) text = alphabet[rest % 32] + text;
  return text;
}

const state = { lastMs: 0, lastTail: 0 };

// Ids of one millisecond count up from a random start: lists keep the order of creation.
function nextTail(nowMs: number): number {
  state.lastTail = nowMs === state.lastMs ? state.lastTail + 1 : randomBytes(4).readUInt32BE() >>> 4;
  state.lastMs = nowMs;
  return state.lastTail;
}

function encodeTail(value: number): string {
  let text = '';
  for (let rest = value, i = 0; i < 7; i++, rest = Math.floor(rest / 32)) text = alphabet[rest % 32] + text;
  return text;
}

const randomText = (length: number): string => Array.from(randomBytes(length), (byte) => alphabet[byte & 31]).join('');

/** Ids made before that moment are below it; those of the moment and later ones are not. There are none from before 1970. */
export const startOfIds = (ms: number): string => encodeTime(Math.max(0, ms));

/** Ids made up to that moment are below it; later ones are not. */
export const endOfIds = (ms: number): string => startOfIds(ms + 1);

export const createId = (nowMs: number): string => encodeTime(nowMs) + encodeTail(nextTail(nowMs)) + randomText(randomLength - 7);
