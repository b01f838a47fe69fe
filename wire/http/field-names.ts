// Which header fields the edge looks at or removes, found by a rolling hash of the folded name.
// Folding maps every mark to "-", so X_Forwarded_For counts as X-Forwarded-For.

import {
  assertedFields,
  assertedPrefixes,
  forwardedPrefix,
  hopFields,
  identityFields,
  type messageFields,
  methodFields,
  pathFields,
  visitPrefix,
} from '@underpass/rules/visit/edge-fields.ts';
import { fold } from './octets.ts';

export const fieldKind = {
  other: 0,
  host: 1,
  contentLength: 2,
  transferEncoding: 3,
  connection: 4,
  upgrade: 5,
  expect: 6,
  te: 7,
  via: 8,
  /** Meant for one hop only, or dangerous to pass on: removed. */
  hop: 9,
  /** Identifies the visitor: only the edge may set it. */
  identity: 10,
  /** The time at which the message was made. */
  date: 11,
  /** How many more proxies an OPTIONS request may pass. */
  maxForwards: 12,
  /** Marks an answer of the edge: no upstream may set it. */
  edgeError: 13,
  /** May hold the session of a visitor, which no upstream gets. */
  cookie: 14,
  /** May hold the token of a machine or a program, which no upstream gets. */
  authorization: 15,
  /** Names the method in place of the request line, which frameworks honour: an access policy judges both. */
  method: 16,
  /** Another sign-in proxy says in it who the visitor is: removed where a tunnel has an access policy. */
  asserted: 17,
} as const;

/** What the edge does with the fields that it treats one by one. */
const ownKinds: Readonly<Record<(typeof messageFields)[number], number>> = {
  host: fieldKind.host,
  'content-length': fieldKind.contentLength,
  'transfer-encoding': fieldKind.transferEncoding,
  connection: fieldKind.connection,
  upgrade: fieldKind.upgrade,
  expect: fieldKind.expect,
  te: fieldKind.te,
  via: fieldKind.via,
  date: fieldKind.date,
  'max-forwards': fieldKind.maxForwards,
  'underpass-error': fieldKind.edgeError,
  cookie: fieldKind.cookie,
};

const kinds = new Map<string, number>([
  ...Object.entries(ownKinds),
  ['authorization', fieldKind.authorization],
  ...assertedFields.map((name) => [name, fieldKind.asserted] as const),
  ...hopFields.map((name) => [name, fieldKind.hop] as const),
  ...methodFields.map((name) => [name, fieldKind.method] as const),
  ...[...identityFields, ...pathFields].map((name) => [name, fieldKind.identity] as const),
]);

/** Slots of the hash table: a power of two, far above the number of names, so that few names share a slot. */
const slots = 1024;
const slotNames: (string | undefined)[] = new Array(slots).fill(undefined);
const slotKinds = new Uint8Array(slots);
for (const [name, kind] of kinds) fill(name, kind);

function fill(name: string, kind: number): void {
  let slot = hashOf(name) & (slots - 1);
  while (slotNames[slot] !== undefined) slot = (slot + 1) & (slots - 1);
  slotNames[slot] = name;
  slotKinds[slot] = kind;
}

function hashOf(name: string): number {
  let hash = 0;
  for (let i = 0; i < name.length; i++) hash = nameHash(hash, fold[name.charCodeAt(i)] as number);
  return hash;
}

/** One step of the hash; the scanner calls it for each folded byte. */
export function nameHash(hash: number, folded: number): number {
  return (Math.imul(hash, 31) + folded) | 0;
}

/** The kind of a name whose folded bytes hash to `hash`. */
export function kindOf(hash: number, bytes: Uint8Array, start: number, end: number): number {
  let slot = hash & (slots - 1);
  let name = slotNames[slot];
  while (name !== undefined) {
    if (foldedIs(name, bytes, start, end)) return slotKinds[slot] as number;
    slot = (slot + 1) & (slots - 1);
    name = slotNames[slot];
  }
  for (const { prefix, kind } of prefixesAt[fold[bytes[start] as number] as number] ?? noPrefixes)
    if (foldedStarts(prefix, bytes, start, end)) return kind;
  return fieldKind.other;
}

interface PrefixKind {
  readonly prefix: string;
  readonly kind: number;
}

const prefixKinds: readonly PrefixKind[] = [
  ...[forwardedPrefix, visitPrefix].map((prefix) => ({ prefix, kind: fieldKind.identity })),
  ...assertedPrefixes.map((prefix) => ({ prefix, kind: fieldKind.asserted })),
];
const noPrefixes: readonly PrefixKind[] = [];
/** Prefixes by their first byte, so that most names are compared with none. */
const prefixesAt: (readonly PrefixKind[] | undefined)[] = new Array(256).fill(undefined);
for (const each of prefixKinds) {
  const first = each.prefix.charCodeAt(0);
  prefixesAt[first] = [...(prefixesAt[first] ?? []), each];
}

/** A trailer must not carry a field that the head is read for (RFC 9110 6.5.1). */
export const maySayInTrailer = (kind: number): boolean => kind === fieldKind.other || kind === fieldKind.date;

/** The kind of a name given as text, for HTTP/2. */
export function kindOfName(name: string): number {
  let folded = '';
  for (let i = 0; i < name.length; i++) folded += String.fromCharCode(fold[name.charCodeAt(i) & 255] as number);
  return kinds.get(folded) ?? prefixKinds.find(({ prefix }) => folded.startsWith(prefix))?.kind ?? fieldKind.other;
}

const foldedStarts = (prefix: string, bytes: Uint8Array, start: number, end: number): boolean =>
  end - start >= prefix.length && foldedIs(prefix, bytes, start, start + prefix.length);

/** `name` is folded. */
export function foldedIs(name: string, bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start !== name.length) return false;
  for (let i = 0; i < name.length; i++) {
    if (fold[bytes[start + i] as number] !== name.charCodeAt(i)) return false;
  }
  return true;
}
