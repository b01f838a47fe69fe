// Which path rule decides about a request. Servers read one target in different ways: they decode it or not, resolve dot
// segments before or after that, take "\" for "/", cut parameters off. So a path that is not plain is judged in every reading
// that a server may have of it, and the most restrictive outcome counts. Pure.

import type { Reach } from './method-reach.ts';
import { type Fold, foldAscii, foldNames, isAscii, plainSigns } from './path-fold.ts';
import { defaultAction, type PathAction, type PathRule } from './path-rule.ts';

export interface PathDecision {
  readonly action: PathAction;
  /** Null: no rule matches, or the path is malformed. */
  readonly rule: PathRule | null;
}

/** Readings of one path. Real paths have at most eight; more are a sign of an attack. */
const mostReadings = 64;
/** Characters of all readings of one path, so a long path costs no more than a short one with many readings. */
const mostChars = 64 * 1024;

const severity: Readonly<Record<PathAction, number>> = { public: 0, 'sign-in': 1, deny: 2 };
const needsSignIn: PathDecision = { action: defaultAction, rule: null };

/**
 * `target`: the origin-form of a request as it goes to the upstream, one character for each byte. `reach`: what the request may
 * touch besides this path.
 */
export function compilePaths(rules: readonly PathRule[]): (target: string, reach?: Reach) => PathDecision {
  if (rules.length === 0) return () => needsSignIn;
  const decideService: PathDecision = {
    action: rules.some(({ action }) => action === 'deny') ? 'deny' : defaultAction,
    rule: null,
  };
  const match = compileReading(rules, foldAscii);
  const reader = createReader(match, compileReading(rules, foldNames));
  const treeReader = createReader(compileTree(rules, foldAscii), compileTree(rules, foldNames));
  return (target, reach = 'path') => {
    if (reach === 'service') return decideService;
    const query = target.indexOf('?');
    const path = query < 0 ? target : target.slice(0, query);
    if (reach === 'tree') return decideReadings(path, treeReader, decideService);
    return isPlain(path) ? match(path, path.toLowerCase()) : decideReadings(path, reader, decideService);
  };
}

/** Decides by one reading. `folded`: the reading with the fold of the rules. */
type Match = (path: string, folded: string) => PathDecision;
type Reader = (path: string) => PathDecision;

const createReader =
  (ascii: Match, other: Match): Reader =>
  (path) =>
    isAscii(path) ? ascii(path, foldAscii(path)) : other(path, foldNames(path));

/**
 * The first rule wins. Which one a server takes for the first depends on how it folds. So a `sign-in` rule that only some fold
 * matches leaves the decision open to the rules after it, and makes a `public` one need a sign-in.
 */
function compileReading(rules: readonly PathRule[], fold: Fold): Match {
  const compiled = rules.map((rule) => compileRule(rule, fold));
  return (path, folded) => {
    let possible: PathDecision | null = null;
    for (const rule of compiled) {
      const { decision } = rule;
      // A `public` rule matches its very path alone. Nothing is stricter than a `deny` rule that may match.
      if (decision.action !== 'public' && !mayMatch(rule, folded)) continue;
      if (decision.action === 'deny') return decision;
      if (covers(path, rule.own, rule.below)) return possible ?? decision;
      if (decision.action === 'sign-in') possible ??= decision;
    }
    return possible ?? needsSignIn;
  };
}

interface CompiledRule {
  readonly decision: PathDecision;
  readonly own: string;
  readonly below: boolean;
  /** `own` folded, without a last slash. */
  readonly folded: string;
}

function compileRule(rule: PathRule, fold: Fold): CompiledRule {
  const { own, below } = partsOf(rule.path);
  const folded = fold(own);
  const endsInSlash = folded.length > 1 && folded.endsWith('/');
  return { decision: { action: rule.action, rule }, own, below, folded: endsInSlash ? folded.slice(0, -1) : folded };
}

/** Ignores a last slash, as some servers do. */
const mayMatch = (rule: CompiledRule, path: string): boolean =>
  covers(path, rule.folded, rule.below) || (path.length === rule.folded.length + 1 && path === `${rule.folded}/`);

const covers = (path: string, own: string, below: boolean): boolean => (below ? isBelow(path, own) : path === own);

function partsOf(path: string): { readonly own: string; readonly below: boolean } {
  const below = path.endsWith('/*');
  return { own: below ? path.slice(0, -2) : path, below };
}

/** Applies the rules for what is below the path too: deleting a folder deletes what is in it. */
function compileTree(rules: readonly PathRule[], fold: Fold): Match {
  const match = compileReading(rules, fold);
  const inner = rules.map((rule) => ({ decision: { action: rule.action, rule }, own: fold(partsOf(rule.path).own) }));
  return (path, folded) => {
    const folder = folded.endsWith('/') ? folded.slice(0, -1) : folded;
    return inner.reduce(
      (strictest, { decision, own }) => (isBelow(own, folder) ? stricterOf(strictest, decision) : strictest),
      match(path, folded),
    );
  };
}

const stricterOf = (one: PathDecision, other: PathDecision): PathDecision =>
  severity[other.action] > severity[one.action] ? other : one;

const slash = 47;
const dot = 46;
const space = 32;

/** True if all servers read the path alike: unreserved and sub-delimiter characters, no ";", no empty segment, none that ends in a dot. */
const isPlain = (path: string): boolean => hasOnly(path, plainChars);
/** True of a reading that none of `steps` changes: also the ASCII characters that `readable` decodes. */
const isSettled = (reading: string): boolean => hasOnly(reading, settledChars);

/** No segment is empty or ends in a dot or a space. */
function hasOnly(path: string, chars: Uint8Array): boolean {
  if (path.charCodeAt(0) !== slash) return false;
  let before = slash;
  for (let i = 1; i < path.length; i++) {
    const at = path.charCodeAt(i);
    if (at >= 128 || chars[at] === 0) return false;
    if (at === slash && (before === slash || before === dot || before === space)) return false;
    before = at;
  }
  return before !== dot && before !== space;
}

const charsOf = (allowed: RegExp): Uint8Array =>
  Uint8Array.from({ length: 128 }, (_, at) => (allowed.test(String.fromCharCode(at)) ? 1 : 0));
const plainChars = charsOf(/[A-Za-z0-9\-._~!$&'()*+,=:@/]/);
const settledChars = charsOf(/[A-Za-z0-9\-._~!$&'()*+,=:@/ "<>[\]^`{}|]/);

/** Each path that a server may take this one for; null if they are too many. A plain path is one for all servers. */
export const pathReadings = (path: string): Iterable<string> | null => (isPlain(path) ? [path] : readingsOf(path));

export const isBelow = (path: string, folder: string): boolean =>
  path.startsWith(folder) && (path.length === folder.length || path.charCodeAt(folder.length) === slash);

function decideReadings(path: string, reader: Reader, excessive: PathDecision): PathDecision {
  const readings = readingsOf(path);
  if (readings === null) return excessive;
  let strictest: PathDecision | null = isSound(path) ? null : needsSignIn;
  for (const reading of readings) {
    const decision = reader(reading);
    strictest = strictest === null ? decision : stricterOf(strictest, decision);
  }
  return strictest ?? needsSignIn;
}

/** False for a path that no honest program sends and that servers read differently: it is never public. */
function isSound(path: string): boolean {
  const once = decodeOnce(path);
  if (once === null || !/^\/[\x21-\x7e]*$/.test(path)) return false;
  if (isSettled(once)) return true;
  const twice = decodeOnce(once);
  // A second decoding may fail: "100%25" is honest.
  if (twice !== null && twice !== once && decodeOnce(twice) !== twice) return false;
  return ![path, once, twice ?? once].some((text) => /[\x00-\x1f\x7f-\x9f]|%u/i.test(text));
}

/** Strictly: null for a broken escape and for bytes that are not UTF-8. */
function decodeOnce(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Each text that a server may match, from the path as sent; null if they are too many. */
function readingsOf(path: string): Iterable<string> | null {
  const readings = new Set<string>([readable(path)]);
  let chars = path.length;
  for (const reading of readings) {
    if (isSettled(reading)) continue;
    for (const step of steps) {
      const next = step(reading);
      if (readings.has(next)) continue;
      readings.add(next);
      chars += next.length;
      if (readings.size > mostReadings || chars > mostChars) return null;
    }
  }
  return readings;
}

const readableSigns = '%20|%22|%3c|%3e|%5b|%5d|%5e|%60|%7b|%7c|%7d';
const readableRun = new RegExp(`(?:${readableSigns}|%[89a-f][0-9a-f])+`, 'gi');
const further = '%[89ab][0-9a-f]';
/** Characters outside ASCII as UTF-8 (RFC 3629 4). A test, because an exception for each of thousands of broken ones takes long. */
const wellFormed = new RegExp(
  `^(?:${[
    ...[readableSigns, `%(?:c[2-9a-f]|d[0-9a-f])${further}`],
    ...[`%e0%[ab][0-9a-f]${further}`, `%e[1-9a-cef](?:${further}){2}`, `%ed%[89][0-9a-f]${further}`],
    ...[`%f0%[9ab][0-9a-f](?:${further}){2}`, `%f[1-3](?:${further}){3}`, `%f4%8[0-9a-f](?:${further}){2}`],
  ].join('|')})+$`,
  'i',
);

/**
 * Decodes what every browser encodes and no server takes for structure: spaces, some marks, text outside ASCII. Rules are
 * written in these characters; for a server that does not decode, the escapes name the same thing.
 */
const readable = (path: string): string =>
  path.replace(readableRun, (text) => (wellFormed.test(text) ? decodeURIComponent(text) : text));

/** What servers do to a path, each in any order and more than once. */
const steps: readonly ((path: string) => string)[] = [
  decodeBytes,
  // A server that leaves encoded slashes as they are decodes the dots around them.
  (path) => (path.includes('%') ? path.replace(/%(?!2f|5c)[0-9a-f]{2}/gi, decodeByte) : path),
  (path) => path.replaceAll('\\', '/'),
  (path) => (path.includes(';') ? path.replace(/;[^/]*/g, '') : path),
  (path) => (path.includes('//') ? path.replace(/\/{2,}/g, '/') : path),
  resolveDots,
  // `new URL` and urlparse take what follows "//" for a host. `new URL` also drops tabs and line ends.
  (path) => path.replace(/^\/{2,}[^/]*/, '').replace(/[\t\r\n]/g, ''),
  // An escaped "?" or "#" that is decoded too early, and a text that ends with NUL.
  (path) => cutAt(path, /[?#]/),
  (path) => cutAt(path, /\0/),
  plainSigns,
  // Windows drops dots and spaces at the end of a name.
  (path) => (/[. ](?:\/|$)/.test(path) ? path.split('/').map(withoutTail).join('/') : path),
  // Overlong UTF-8, and the escapes that some old servers know.
  (path) => path.replace(/%c([01])%([89ab][0-9a-f])/gi, (_, high, low) => charOf(Number(high) * 64 + (hex(low) & 63))),
  (path) =>
    path.replace(/%e0%([89])([0-9a-f])%([89ab][0-9a-f])/gi, (_, a, b, c) => charOf(((hex(a + b) & 31) << 6) | (hex(c) & 63))),
  (path) => path.replace(/%u([0-9a-f]{4})/gi, (_, digits) => charOf(hex(digits))),
];

const hex = (digits: string): number => Number.parseInt(digits, 16);
const charOf = (code: number): string => String.fromCharCode(code);
const decodeByte = (triplet: string): string => charOf(hex(triplet.slice(1)));

/** Reads malformed text as some servers do: each byte is a character. */
function decodeBytes(path: string): string {
  if (!path.includes('%')) return path;
  return decodeOnce(path) ?? path.replace(/%[0-9a-f]{2}/gi, decodeByte);
}

function cutAt(path: string, mark: RegExp): string {
  const at = path.search(mark);
  return at < 0 ? path : path.slice(0, at);
}

function withoutTail(segment: string): string {
  if (segment === '.' || segment === '..') return segment;
  let end = segment.length;
  while (end > 0 && (segment.charCodeAt(end - 1) === dot || segment.charCodeAt(end - 1) === space)) end--;
  return segment.slice(0, end);
}

/** RFC 3986 5.2.4. A ".." above the root stays at the root. */
function resolveDots(path: string): string {
  if (!/(?:^|\/)\.\.?(?:\/|$)/.test(path)) return path;
  const kept: string[] = [];
  const segments = path.split('/').slice(1);
  for (const [index, segment] of segments.entries()) {
    const isLast = index === segments.length - 1;
    if (segment === '..') kept.pop();
    if (segment !== '.' && segment !== '..') kept.push(segment);
    else if (isLast) kept.push('');
  }
  return `/${kept.join('/')}`;
}
