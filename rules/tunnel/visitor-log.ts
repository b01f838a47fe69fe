// The visitor log of a tunnel: what it keeps of each visit, for how long, and how much of a flood.

import { formatCidr, parseAddress, parseCidr } from '../address/address.ts';
import { hourMs } from '../limits.ts';
import { accept, type Parsed, refuse } from '../parsed.ts';

/** How the log keeps addresses of visitors; `off`: it keeps nothing. */
export const visitorLogModes = ['off', 'truncated', 'full'] as const;
export type VisitorLogMode = (typeof visitorLogModes)[number];

/** What a log that is on keeps of them. */
export type KeptAddress = Exclude<VisitorLogMode, 'off'>;

export function parseVisitorLogMode(text: string): Parsed<VisitorLogMode> {
  const mode = visitorLogModes.find((each) => each === text);
  return mode === undefined ? refuse("Visitor log must be 'off', 'truncated' or 'full'") : accept(mode);
}

export const visitorLogLabels: Readonly<Record<VisitorLogMode, string>> = {
  off: 'Off',
  truncated: 'On, without the end of addresses',
  full: 'On, with whole addresses',
};

/** Entries to choose from: those that the edge refused or answered with an error, and those of upstreams by class of status. */
export const visitorLogFilters = ['refused', '4xx', '5xx'] as const;
export type VisitorLogFilter = (typeof visitorLogFilters)[number];

export function parseVisitorLogFilter(text: string): Parsed<VisitorLogFilter> {
  const filter = visitorLogFilters.find((each) => each === text);
  return filter === undefined ? refuse("Status must be 'refused', '4xx' or '5xx'") : accept(filter);
}

export const visitorLogBounds = {
  keptMs: 24 * hourMs,
  /** The newest entries of a tunnel that stay. */
  rows: 10_000,
  /** The newest entries of a project: with more than ten logs, each keeps its share. */
  projectRows: 100_000,
  pageRows: 100,
  /** Visits of a tunnel that one process of an edge notes: a page with its parts at once, then so many a second. */
  burst: 200,
  perSecond: 20,
  pathChars: 500,
  nameChars: 254,
} as const;

/** The network of an address: an IPv4 /24, or the IPv6 /48 of a site. Empty for what is no address. */
export function truncateAddress(text: string): string {
  const address = parseAddress(text);
  const network = address === null ? null : parseCidr(`${text}/${address.version === 4 ? 24 : 48}`);
  // A range of an IPv4-mapped address counts its prefix in IPv6.
  if (network === null || network.address.version !== address?.version) return '';
  return formatCidr(network);
}
