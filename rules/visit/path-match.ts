// Which path rule decides about a request. Servers read one target in different ways: they decode it or not, resolve dot
// segments before or after that, take "\" for "/", cut parameters off. So a path that is not plain is judged in every reading
// that a server may have of it, and the most restrictive outcome counts. Pure.

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

export function decidePath(rules: readonly PathRule[], target: string): PathDecision {
  return compilePaths(rules)(target);
}

/** `target`: the origin-form of a request as it goes to the upstream, one character for each byte. */
export function compilePaths(rules: readonly PathRule[]): (target: string) => PathDecision {
  if (rules.length === 0) return () => needsSignIn;
  const match = compileReading(rules);
  const excessive: PathDecision = {
    action: rules.some(({ action }) => action === 'deny') ? 'deny' : defaultAction,
    rule: null,
  };
  return (target) => {
    const query = target.indexOf('?');
    const path = query < 0 ? target : target.slice(0, query);
    return isPlain(path) ? match(path, path.toLowerCase()) : decideReadings(path, match, excessive);
  };
}

type Match = (path: string, folded: string) => PathDecision;

/** Matches one reading. The first rule wins. */
function compileReading(rules: readonly PathRule[]): Match {
  const matches = rules.map((rule) => ({ decision: { action: rule.action, rule }, matches: compileRule(rule) }));
  return (path, folded) => {
    for (const { decision, matches: holds } of matches) if (holds(path, folded)) return decision;
    return needsSignIn;
  };
}

/** A `public` rule matches its path exactly. The others also match without regard to case and to a last slash, as some servers do. */
function compileRule({ path, action }: PathRule): (path: string, folded: string) => boolean {
  const below = path.endsWith('/*');
  const own = below ? path.slice(0, -2) : path;
  if (action === 'public') return below ? (text) => isBelow(text, own) : (text) => text === own;
  const ownFolded = foldCase(own.length > 1 && own.endsWith('/') ? own.slice(0, -1) : own);
  if (below) return (_, folded) => isBelow(folded, ownFolded);
  return (_, folded) => folded === ownFolded || (folded.length === ownFolded.length + 1 && folded === `${ownFolded}/`);
}

const isBelow = (path: string, folder: string): boolean =>
  path.startsWith(folder) && (path.length === folder.length || path.charCodeAt(folder.length) === slash);

/** Upper case first: it joins more letters (the long s and S). A plain path has only ASCII, where lower case alone does the same. */
const foldCase = (text: string): string => text.toUpperCase().toLowerCase();

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

function decideReadings(path: string, match: Match, excessive: PathDecision): PathDecision {
  const readings = readingsOf(path);
  if (readings === null) return excessive;
  let strictest: PathDecision = isSound(path) ? { action: 'public', rule: null } : needsSignIn;
  let isFirst = isSound(path);
  for (const reading of readings) {
    const decision = match(reading, foldCase(reading));
    if (isFirst || severity[decision.action] > severity[strictest.action]) strictest = decision;
    isFirst = false;
  }
  return strictest;
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

/**
 * Decodes what every browser encodes and no server takes for structure: spaces, some marks, text outside ASCII. Rules are
 * written in these characters; for a server that does not decode, the escapes name the same thing.
 */
const readable = (path: string): string =>
  path.replace(/(?:%20|%22|%3c|%3e|%5b|%5d|%5e|%60|%7b|%7c|%7d|%[89a-f][0-9a-f])+/gi, (text) => decodeOnce(text) ?? text);

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
  (path) => (/[\x80-\uffff]/.test(path) ? path.normalize('NFKC') : path),
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
