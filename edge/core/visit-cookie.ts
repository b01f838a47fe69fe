// The cookies of an access policy: finds and removes them in a request, and sets them. Browsers send each to its own host only.

import { nextLine } from '@underpass/wire/http/head-scan.ts';
import type { RequestHead } from '@underpass/wire/http/request-head.ts';

/** Holds a session, signed with the policy's key. */
const sessionCookie = '__Host-underpass-access';
/** Holds `entered` for a moment after a sign-in. */
const enteredCookie = '__Host-underpass-visit';
const enteredValue = 'entered';

/**
 * Each visit that waits for its sign-in has a cookie of its own, `__Host-underpass-visit-0` to `-7`, with a nonce and the path where
 * it began: tabs that a browser opens at once do not overwrite each other's. Eight of them take 11 kB at most, an eighth of that
 * with usual paths.
 */
const mostVisits = 8;
const visitSeconds = 15 * 60;
const enteredSeconds = 30;

/** RFC 6265bis 4.1.3.2: browsers keep a cookie with this prefix only if it is Secure, has Path=/ and names no domain. */
const prefix = Buffer.from('__Host-underpass-');
const suffixes = { session: Buffer.from('access'), visit: Buffer.from('visit') };

/** What `take` found in the last request. One object serves all requests, so reading allocates nothing. */
export class VisitCookies {
  sessions = 0;
  sessionStart = 0;
  sessionEnd = 0;
  /** Counts of each visit's cookie and, behind them, of `enteredCookie`. */
  readonly #counts = new Int32Array(mostVisits + 1);
  readonly #starts = new Int32Array(mostVisits + 1);
  readonly #ends = new Int32Array(mostVisits + 1);
  /** Whether a count is not 0. Most requests have a session alone. */
  #hasVisits = false;

  isEntered(bytes: Buffer): boolean {
    return this.#valueOf(enteredAt, bytes) === enteredValue;
  }

  /** The visits that wait for their sign-in. A page of the host may have set the cookies, so their paths are checked again. */
  begun(bytes: Buffer): BegunVisit[] {
    return this.takenSlots().flatMap((slot) => parseVisit(slot, this.#valueOf(slot, bytes)) ?? []);
  }

  takenSlots(): number[] {
    return slots.filter((slot) => this.#counts[slot] !== 0);
  }

  /** Empty if there is no such cookie, or more than one. */
  #valueOf(at: number, bytes: Buffer): string {
    return this.#counts[at] === 1 ? bytes.toString('latin1', this.#starts[at], this.#ends[at]) : '';
  }

  /** Finds our cookies in all Cookie fields, and leaves them out of the head for the upstream. */
  take(head: RequestHead, bytes: Buffer): void {
    this.sessions = 0;
    if (this.#hasVisits) this.#counts.fill(0);
    this.#hasVisits = false;
    head.eachCookie((line, start, end) => this.#takeField(head, bytes, line, start, end));
  }

  #takeField(head: RequestHead, bytes: Buffer, line: number, start: number, end: number): void {
    // Where the last foreign cookie ends; -1: none yet.
    let before = -1;
    // Our cookies open the field, or follow a cut.
    let ownFirst = false;
    for (let at = start; at < end; ) {
      const mark = bytes.indexOf(semicolon, at);
      const stop = mark < 0 || mark > end ? end : mark;
      const from = skipSpace(bytes, at, stop);
      const isOwn = this.#note(bytes, from, stop);
      if (isOwn && before >= 0) head.cut(before, stop);
      else if (isOwn) ownFirst = true;
      else if (from < stop) {
        if (ownFirst) head.cut(start, from);
        ownFirst = false;
        before = stop;
      }
      if (isOwn && before >= 0) before = stop;
      at = stop + 1;
    }
    // The field holds our cookies alone, so its whole line goes.
    if (ownFirst) head.cut(line, nextLine(bytes, end));
  }

  #note(bytes: Buffer, from: number, stop: number): boolean {
    if (bytes[from] !== underscore || !startsWith(bytes, from, stop, prefix)) return false;
    const at = from + prefix.length;
    const session = valueAfter(bytes, at, stop, suffixes.session);
    if (session >= 0) {
      this.sessions++;
      this.sessionStart = session;
      this.sessionEnd = trimmedEnd(bytes, session, stop);
      return true;
    }
    return startsWith(bytes, at, stop, suffixes.visit) && this.#noteVisit(bytes, at + suffixes.visit.length, stop);
  }

  /** `from`: where the name may go on with a slot. */
  #noteVisit(bytes: Buffer, from: number, stop: number): boolean {
    const hasSlot = bytes[from] === hyphen;
    const slot = hasSlot ? (bytes[from + 1] as number) - zero : enteredAt;
    if (hasSlot && !slots.includes(slot)) return false;
    const value = valueAfter(bytes, hasSlot ? from + 2 : from, stop, noSuffix);
    if (value < 0) return false;
    this.#hasVisits = true;
    this.#counts[slot] = (this.#counts[slot] as number) + 1;
    this.#starts[slot] = value;
    this.#ends[slot] = trimmedEnd(bytes, value, stop);
    return true;
  }
}

const slots: readonly number[] = Array.from({ length: mostVisits }, (_, slot) => slot);
const enteredAt = mostVisits;
const noSuffix = Buffer.alloc(0);
const hyphen = 45;
const zero = 48;
const semicolon = 59;
const underscore = 95;
const equals = 61;
const space = 32;

function skipSpace(bytes: Buffer, from: number, stop: number): number {
  let at = from;
  while (at < stop && (bytes[at] === space || bytes[at] === 9)) at++;
  return at;
}

function trimmedEnd(bytes: Buffer, from: number, stop: number): number {
  let end = stop;
  while (end > from && (bytes[end - 1] === space || bytes[end - 1] === 9)) end--;
  return end;
}

function startsWith(bytes: Buffer, from: number, stop: number, word: Buffer): boolean {
  if (stop - from < word.length) return false;
  for (let i = 0; i < word.length; i++) if (bytes[from + i] !== word[i]) return false;
  return true;
}

/** Where the value begins if the name goes on with `word` and ends there, else -1. */
function valueAfter(bytes: Buffer, from: number, stop: number, word: Buffer): number {
  if (!startsWith(bytes, from, stop, word)) return -1;
  const at = skipSpace(bytes, from + word.length, stop);
  return at < stop && bytes[at] === equals ? skipSpace(bytes, at + 1, stop) : -1;
}

const setCookie = (name: string, value: string, seconds: number): string =>
  `${name}=${value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=${Math.max(0, Math.round(seconds))}`;

export const setSession = (session: string, seconds: number): string => setCookie(sessionCookie, session, seconds);
export const setEntered: string = setCookie(enteredCookie, enteredValue, enteredSeconds);
export const clearVisit = (slot: number): string => setCookie(`${enteredCookie}-${slot}`, '', 0);
export const clearCookies = (takenSlots: readonly number[]): readonly string[] => [
  setCookie(sessionCookie, '', 0),
  setCookie(enteredCookie, '', 0),
  ...takenSlots.map(clearVisit),
];

export interface BegunVisit {
  readonly slot: number;
  readonly nonce: string;
  readonly returnPath: string;
}

export const setVisit = ({ slot, nonce, returnPath }: BegunVisit): string =>
  setCookie(`${enteredCookie}-${slot}`, `${nonce}.${encodeReturnPath(returnPath)}`, visitSeconds);

/** Null for a text of another form. */
function parseVisit(slot: number, value: string): BegunVisit | null {
  const match = /^([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{0,1400})$/.exec(value);
  return match === null ? null : { slot, nonce: match[1] as string, returnPath: decodeReturnPath(match[2] as string) };
}

/**
 * A slot that is free, else any, whose visit then has to begin again. By chance, because tabs that open at once send the same
 * cookies. `random`: from 0 to below 1.
 */
export function chooseSlot(takenSlots: readonly number[], random: number): number {
  const free = slots.filter((slot) => !takenSlots.includes(slot));
  const choice = free.length === 0 ? slots : free;
  return choice[Math.floor(random * choice.length)] as number;
}

/** Where a visitor goes whose ticket does not say which visit it ends. */
export const likelyReturnPath = (begun: readonly BegunVisit[]): string =>
  begun.length === 1 ? (begun[0] as BegunVisit).returnPath : '/';

export const encodeReturnPath = (path: string): string => Buffer.from(path, 'latin1').toString('base64url');
export const decodeReturnPath = (text: string): string => returnPathOf(Buffer.from(text, 'base64url').toString('latin1'));

const returnMostChars = 1_024;
/** Visitors never return to one of these paths: it would start the sign-in again. */
export const accessPath = '/.underpass/access/';

/** The path itself if a browser takes it for a path of the same host, else "/". */
export function returnPathOf(path: string): string {
  const isOwn = /^\/(?![/\\])[\x21\x22\x24-\x5b\x5d-\x7e]*$/.test(path) && path.length <= returnMostChars;
  return isOwn && !path.startsWith(accessPath) ? path : '/';
}
