// Whether an edge's message has the shape that the rest of control relies on. Pure. An edge is trusted only with its own region
// (docs/security.md): a stolen key must not crash control or fill its memory.

import { limits } from '@underpass/rules/limits.ts';
import { isFigures } from '@underpass/rules/tunnel/figures.ts';
import { isPortProblem } from '@underpass/rules/tunnel/port-range.ts';
import { visitorLogBounds } from '@underpass/rules/tunnel/visitor-log.ts';
import {
  type FeedClient,
  type FeedCopy,
  type FeedLeave,
  type FeedLogEntry,
  type FeedRefusal,
  type FeedTunnelLog,
  type FeedTunnelReport,
  type FromEdge,
  mostPortProblems,
} from '@underpass/wire/feed/feed.ts';

type Said<T extends FromEdge['type']> = Extract<FromEdge, { type: T }>;
type Unknown<T> = { readonly [K in keyof T]?: unknown };

/** Every text of an edge is shorter: a name, an address, a version, host:port. */
const mostChars = 300;
/** Room for `software`, `version` and such; clients send at most 64. */
const mostWordChars = 100;
/** A report is one tunnel's few hundred bytes; more tunnels than this do not fit one region. */
const maxReportedTunnels = 1_000_000;
/** The last moment that a Date can hold: times are shown as one. */
const lastMs = 8.64e15;

const isText = (value: unknown, most = mostWordChars): value is string => typeof value === 'string' && value.length <= most;
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
const isTime = (value: unknown): boolean => Number.isFinite(value) && Math.abs(value as number) <= lastMs;
/** A column of whole milliseconds takes no fraction. */
const isStoredTime = (value: unknown): boolean => isTime(value) && Number.isSafeInteger(value);
const orMissing = (value: unknown, fits: (value: unknown) => boolean): boolean => value === undefined || fits(value);
const orNull = (value: unknown, fits: (value: unknown) => boolean): boolean => value === null || fits(value);

export function isHello({ software, hopAddress, startedAtMs, epoch, seq }: Unknown<Said<'hello'>>): boolean {
  const position = orMissing(epoch, isText) && orMissing(seq, isCount);
  const address = orMissing(hopAddress, (value) => isText(value, mostChars));
  return isText(software) && address && orMissing(startedAtMs, isTime) && position;
}

function isClient(value: Unknown<FeedClient> | null): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { id, address, version, sinceMs, rttMs, provenAtMs, healthy } = value;
  const isValid = isText(id) && isText(address) && isText(version) && typeof healthy === 'boolean';
  return isValid && isTime(sinceMs) && orNull(rttMs, Number.isFinite) && orNull(provenAtMs, isTime);
}

function isRefusal(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { code, address, atMs }: Unknown<FeedRefusal> = value;
  return isText(code) && isText(address) && isTime(atMs);
}

function isLeave(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { atMs, onPurpose }: Unknown<FeedLeave> = value;
  return isTime(atMs) && typeof onPurpose === 'boolean';
}

/** Each worker of an edge may name each ticket. */
const mostTicketUses = 64 * limits.reachTicketsPerTunnel;

function isTicketUse(value: unknown): boolean {
  if (!Array.isArray(value) || value.length > mostTicketUses) return false;
  return value.every((use) => typeof use === 'object' && use !== null && isText(use.id) && isStoredTime(use.atMs));
}

function isTunnelReport(value: Unknown<FeedTunnelReport> | null): boolean {
  const { tunnelId, clients, refused, left, figures, ticketsUsed } = value ?? {};
  const isMore = orMissing(figures, isFigures) && orMissing(ticketsUsed, isTicketUse);
  const isSaid = orMissing(refused, isRefusal) && orMissing(left, isLeave) && isMore;
  return isText(tunnelId) && Array.isArray(clients) && clients.every(isClient) && isSaid;
}

function isPortProblems(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const entries = Object.entries(value);
  return entries.length <= mostPortProblems && entries.every(([id, problem]) => isText(id) && isPortProblem(problem));
}

/** An edge of an earlier version says nothing of its copy. */
export function isPong({ copy, portProblems }: Unknown<Said<'pong'>>): boolean {
  return orMissing(copy, isCopy) && orMissing(portProblems, isPortProblems);
}

function isCopy(copy: unknown): boolean {
  if (typeof copy !== 'object' || copy === null) return false;
  const { writtenAtMs, error }: Unknown<FeedCopy> = copy;
  return orNull(writtenAtMs, isTime) && orNull(error, (value) => isText(value, mostChars));
}

/** What an edge escapes already: a stolen key must not bring control characters to a terminal. */
const isPrintable = (value: unknown, most: number): boolean => isText(value, most) && /^[ -~]*$/.test(value);
const isTimed = (value: unknown): boolean => Number.isFinite(value) && (value as number) >= 0;

const isTraceId = (value: unknown): boolean => isText(value) && /^[0-9a-f]{32}$/.test(value);

function isLogEntry(value: Unknown<FeedLogEntry> | null): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { atMs, address, who, method, host, path, status, bytes, totalMs, code } = value;
  const words = [address, method, code].every((text) => isPrintable(text, mostWordChars));
  const texts = isPrintable(who, mostChars) && isPrintable(host, mostChars) && isPrintable(path, visitorLogBounds.pathChars);
  const parts = [value.edgeMs, value.tunnelMs, value.upstreamMs].every((ms) => orNull(ms, isTimed));
  const more = orMissing(value.rule, (rule) => isPrintable(rule, mostChars)) && orMissing(value.trace, isTraceId);
  return isTime(atMs) && words && texts && more && isCount(status) && isCount(bytes) && isTimed(totalMs) && parts;
}

function isTunnelLog(value: Unknown<FeedTunnelLog> | null): boolean {
  const { tunnelId, entries, missed } = value ?? {};
  return isText(tunnelId) && isCount(missed) && Array.isArray(entries) && entries.every(isLogEntry);
}

export function isVisitorLog({ tunnels }: Unknown<Said<'visitor-log'>>): boolean {
  return Array.isArray(tunnels) && tunnels.every(isTunnelLog);
}

export function isReport({ atMs, partial, tunnels }: Unknown<Said<'report'>>): boolean {
  const scope = orMissing(partial, (value) => typeof value === 'boolean');
  return isTime(atMs) && scope && Array.isArray(tunnels) && tunnels.length <= maxReportedTunnels && tunnels.every(isTunnelReport);
}
