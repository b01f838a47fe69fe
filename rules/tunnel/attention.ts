// What in a project needs its people: decided from facts, the most urgent first. Pages list it; a notice by mail or webhook can tell
// the same.

import { dayMs, hourMs, type QuotaName, quotaNouns } from '../limits.ts';
import { counted } from '../text/counted.ts';
import { capitaliseFirst } from '../text/text.ts';
import { type ClientErrorName, clientErrors, isRefusal } from './client-error.ts';
import { certificateLimits } from './own-certificate.ts';
import { type PortProblem, portProblems } from './port-range.ts';
import type { TunnelCondition } from './tunnel-condition.ts';
import type { StatusTone } from './tunnel-status.ts';

/** Kinds from the most to the least urgent. `negative`: visitors get an error now. `waiting`: it is being set up. `warning`: soon. */
export const attentionKinds = {
  'project-suspended': { tone: 'negative' },
  'region-down': { tone: 'negative' },
  'tunnel-down': { tone: 'negative' },
  'upstream-failing': { tone: 'negative' },
  'port-closed': { tone: 'negative' },
  'tunnel-suspended': { tone: 'negative' },
  'domain-elsewhere': { tone: 'negative' },
  'certificate-missing': { tone: 'negative' },
  'own-certificate-ended': { tone: 'negative' },
  'domain-blocked': { tone: 'negative' },
  'domain-unverified': { tone: 'waiting' },
  'client-refused': { tone: 'warning' },
  'domain-losing': { tone: 'warning' },
  'certificate-ending': { tone: 'warning' },
  'own-certificate-ending': { tone: 'warning' },
  'token-ending': { tone: 'warning' },
  'quota-full': { tone: 'warning' },
  'quota-near': { tone: 'warning' },
} as const satisfies Readonly<Record<string, { readonly tone: StatusTone | 'warning' }>>;

export type AttentionKind = keyof typeof attentionKinds;

export interface ClientTrouble {
  readonly code: ClientErrorName;
  readonly at: string;
  readonly address: string;
}

/** One thing that needs attention. The kind decides which of the others are there. */
export interface AttentionItem {
  readonly kind: AttentionKind;
  readonly tunnel?: string;
  readonly domain?: string;
  /** The name of an API token. */
  readonly tokenName?: string;
  readonly region?: string;
  readonly quota?: QuotaName;
  /** When it began. */
  readonly since?: string;
  /** When it ends, or gets worse. */
  readonly until?: string;
  /** The last error of a client. */
  readonly error?: ClientTrouble;
  readonly portProblem?: PortProblem;
  /** Clients or tunnels that it concerns, and how many there are; of a quota, what is used and the most. */
  readonly affected?: number;
  readonly total?: number;
}

export interface TunnelFacts {
  readonly name: string;
  readonly region: string;
  readonly condition: TunnelCondition;
  readonly since?: string | undefined;
  readonly error?: ClientTrouble | undefined;
  readonly clients: number;
  /** Clients with an upstream that does not answer. */
  readonly failing: number;
  /** Why an edge of its region does not listen on its public port. */
  readonly portProblem?: PortProblem | undefined;
}

export interface ProjectFacts {
  /** Suspended as a whole: nothing in it can be changed. */
  readonly isSuspended?: boolean;
  readonly tunnels: readonly TunnelFacts[];
  /** Ingress domains that serve nobody, of verified and unverified domains. */
  readonly hosts: readonly {
    readonly tunnel: string;
    readonly host: string;
    readonly apexName: string;
    readonly isBlocked: boolean;
  }[];
  /** Ingress domains that twice in a row led to no address of their region. */
  readonly strayHosts: readonly { readonly tunnel: string; readonly host: string; readonly since: string }[];
  /** Verified domains whose TXT record was not found, with the end of the patience. */
  readonly missedDomains: readonly { readonly domain: string; readonly until: string }[];
  /** Hosts whose last order failed, and the end of the certificate that they have. */
  readonly failedOrders: readonly { readonly tunnel: string; readonly host: string; readonly until: string | undefined }[];
  /** Certificates that the project gave; of those that have ended, only where no other serves. */
  readonly ownCertificates: readonly {
    readonly tunnel: string;
    readonly host: string;
    readonly until: string;
    /** The service gets one from its authority afterwards. */
    readonly fallback: boolean;
  }[];
  /** API tokens with an end. */
  readonly tokens: readonly { readonly name: string; readonly until: string }[];
  /** Regions without a connected edge, and the tunnels that would work there. */
  readonly downRegions: readonly { readonly region: string; readonly since: string | undefined; readonly affected: number }[];
  readonly quotas: readonly QuotaUse[];
}

export interface QuotaUse {
  readonly quota: QuotaName;
  readonly used: number;
  readonly most: number;
}

/** A project without facts of other kinds. */
export const noFacts: ProjectFacts = {
  ...{ tunnels: [], hosts: [], strayHosts: [], missedDomains: [], failedOrders: [] },
  ...{ ownCertificates: [], tokens: [], downRegions: [], quotas: [] },
};

/** A tunnel that fell longer ago has been given up by its people; lists still show it. */
const downMostDays = 30;
/** A client that was refused longer ago does not try any more: it dials at least once a minute. */
const refusedMostMs = hourMs;
const endsSoonDays = 7;
/** The part of a quota from which the project should know. */
export const quotaNearShare = 0.8;

const msAgo = (iso: string, nowMs: number): number => nowMs - Date.parse(iso);
function endsSoon(iso: string, nowMs: number): boolean {
  const leftMs = -msAgo(iso, nowMs);
  return leftMs > 0 && leftMs <= endsSoonDays * dayMs;
}

export function decideAttention(facts: ProjectFacts, nowMs: number): readonly AttentionItem[] {
  if (facts.isSuspended) return [{ kind: 'project-suspended' }];
  const isDown = new Set(facts.downRegions.map(({ region }) => region));
  const items = [
    ...facts.downRegions.map(
      ({ region, since, affected }): AttentionItem => ({ kind: 'region-down', region, affected, ...(since && { since }) }),
    ),
    // One item stands for all tunnels of a region that is down.
    ...facts.tunnels.filter(({ region }) => !isDown.has(region)).flatMap((tunnel) => ofTunnel(tunnel, nowMs)),
    ...ofHosts(facts.hosts),
    ...facts.strayHosts.map(({ host, ...stray }): AttentionItem => ({ kind: 'domain-elsewhere', domain: host, ...stray })),
    // A name that leads elsewhere gets no certificate: one item says why.
    ...facts.failedOrders.filter(({ host }) => !facts.strayHosts.some((stray) => stray.host === host)).map(ofOrder),
    ...facts.ownCertificates.flatMap((own) => ofOwn(own, nowMs)),
    ...facts.missedDomains.map(({ domain, until }): AttentionItem => ({ kind: 'domain-losing', domain, until })),
    ...facts.tokens
      .filter(({ until }) => endsSoon(until, nowMs))
      .map(({ name, until }): AttentionItem => ({ kind: 'token-ending', tokenName: name, until })),
    ...facts.quotas.flatMap(ofQuota),
  ];
  return items.sort((one, other) => rankOf(one) - rankOf(other) || byTime(one, other));
}

function ofQuota({ quota, used, most }: QuotaUse): readonly AttentionItem[] {
  // An operator sets a quota to 0 to switch the thing off.
  if (most === 0 || used < most * quotaNearShare) return [];
  return [{ kind: used >= most ? 'quota-full' : 'quota-near', quota, affected: used, total: most }];
}

const order = Object.keys(attentionKinds);
const rankOf = ({ kind }: AttentionItem): number => order.indexOf(kind);

/** What began last comes first, and what ends first. */
function byTime(one: AttentionItem, other: AttentionItem): number {
  if (one.until !== undefined && other.until !== undefined) return one.until < other.until ? -1 : 1;
  return (one.since ?? '') < (other.since ?? '') ? 1 : -1;
}

function ofTunnel(tunnel: TunnelFacts, nowMs: number): readonly AttentionItem[] {
  const { name, condition, since, portProblem } = tunnel;
  if (condition === 'suspended') return [{ kind: 'tunnel-suspended', tunnel: name, ...(since && { since }) }];
  const port: readonly AttentionItem[] = portProblem === undefined ? [] : [{ kind: 'port-closed', tunnel: name, portProblem }];
  return [...port, ...ofClients(tunnel, nowMs)];
}

function ofClients({ name, condition, since, error, clients, failing }: TunnelFacts, nowMs: number): readonly AttentionItem[] {
  const when = since === undefined ? {} : { since };
  const trouble = error === undefined ? {} : { error };
  if (failing > 0) return [{ kind: 'upstream-failing', tunnel: name, affected: failing, total: clients, ...trouble }];
  if (condition === 'down' && (since === undefined || msAgo(since, nowMs) <= downMostDays * dayMs))
    return [{ kind: 'tunnel-down', tunnel: name, ...when, ...trouble }];
  if (error === undefined || !isRefusal(error.code) || msAgo(error.at, nowMs) > refusedMostMs) return [];
  return [{ kind: 'client-refused', tunnel: name, since: error.at, error }];
}

/** One item for each domain, however many tunnels wait for it. */
function ofHosts(hosts: ProjectFacts['hosts']): readonly AttentionItem[] {
  const blocked = hosts.filter(({ isBlocked }) => isBlocked);
  const waiting = Map.groupBy(
    hosts.filter(({ isBlocked, apexName }) => !isBlocked && apexName !== ''),
    ({ apexName }) => apexName,
  );
  return [
    ...blocked.map(({ tunnel, host }): AttentionItem => ({ kind: 'domain-blocked', tunnel, domain: host })),
    ...[...waiting].map(([domain, rows]): AttentionItem => {
      const tunnels = new Set(rows.map(({ tunnel }) => tunnel));
      return { kind: 'domain-unverified', domain, tunnel: rows[0]!.tunnel, affected: tunnels.size };
    }),
  ];
}

const ofOrder = ({ tunnel, host, until }: ProjectFacts['failedOrders'][number]): AttentionItem =>
  until === undefined
    ? { kind: 'certificate-missing', tunnel, domain: host }
    : { kind: 'certificate-ending', tunnel, domain: host, until };

/** `since` is when its last warning was due: it tells one warning from the next. */
function ofOwn(
  { tunnel, host, until, fallback }: ProjectFacts['ownCertificates'][number],
  nowMs: number,
): readonly AttentionItem[] {
  const leftMs = Date.parse(until) - nowMs;
  const item = { tunnel, domain: host, until };
  if (leftMs <= 0) return [{ kind: 'own-certificate-ended', ...item, since: until, total: fallback ? 1 : 0 }];
  const days = certificateLimits.warnDays.findLast((each) => leftMs <= each * dayMs);
  if (days === undefined) return [];
  const since = new Date(Date.parse(until) - days * dayMs).toISOString();
  return [{ kind: 'own-certificate-ending', ...item, since, affected: days, total: fallback ? 1 : 0 }];
}

export interface Bounded<Item> {
  readonly shown: readonly Item[];
  readonly more: number;
}

export const bound = <Item>(items: readonly Item[], most: number): Bounded<Item> => ({
  shown: items.slice(0, most),
  more: Math.max(0, items.length - most),
});

interface AttentionText {
  /** A sentence without its full stop. */
  readonly title: string;
  /** What is known, or what to do; empty if the title says it all. */
  readonly text: string;
}

/** The times stand beside the text: each reader has another clock. */
export function describeAttention({
  kind,
  tunnel = '',
  domain = '',
  tokenName = '',
  region = '',
  quota = 'tunnels',
  error,
  portProblem = 'failed',
  affected = 1,
  total = 1,
}: AttentionItem): AttentionText {
  switch (kind) {
    case 'project-suspended':
      return {
        title: 'This project is suspended',
        text: 'Its tunnels refuse visitors and clients, and nothing in it can be changed. Please write to the operator of this service.',
      };
    case 'region-down':
      return {
        title: `Region ${region} does not answer`,
        text: `No edge of the region is connected. ${counted(affected, 'tunnel')} of this project may be down.`,
      };
    case 'tunnel-down':
      return {
        title: `${tunnel} is down`,
        text: error
          ? `Last error: ${clientErrors[error.code]}, client at ${error.address}.`
          : 'The client went away without a goodbye.',
      };
    case 'upstream-failing':
      return {
        title: `${tunnel}: the upstream does not answer`,
        text: affected === total ? 'Visitors get an error page.' : `${affected} of ${total} clients cannot reach it.`,
      };
    case 'port-closed':
      return { title: `${tunnel}: the public port is not open`, text: portProblems[portProblem] };
    case 'tunnel-suspended':
      return { title: `${tunnel} is suspended`, text: 'Please write to the operator of this service.' };
    case 'domain-elsewhere':
      return { title: `${domain} does not lead here`, text: 'Its DNS record is missing or names other addresses.' };
    case 'certificate-missing':
      return {
        title: `${domain} has no certificate`,
        text: 'The order failed and is tried again. The name must lead here, and CAA records must allow the authority.',
      };
    case 'domain-blocked':
      return { title: `${domain} is blocked`, text: 'Please write to the operator of this service.' };
    case 'domain-unverified':
      return {
        title: `${domain} is not verified`,
        text: affected === 1 ? `${tunnel} waits for it.` : `${counted(affected, 'tunnel')} wait for it.`,
      };
    case 'client-refused':
      return {
        title: `${tunnel}: a client is refused`,
        text: error ? `${capitaliseFirst(clientErrors[error.code])}, client at ${error.address}.` : '',
      };
    case 'domain-losing':
      return { title: `${domain} will be unverified`, text: 'Its TXT record is no longer found.' };
    case 'certificate-ending':
      return { title: `The certificate of ${domain} is not renewed`, text: 'The order failed and is tried again.' };
    case 'own-certificate-ending':
      return {
        title: `The project’s certificate of ${domain} ends within ${counted(affected, 'day')}`,
        text:
          total === 1
            ? 'Give a new one. Without it, the service gets one from its authority if the domain leads here.'
            : 'Give a new one before that.',
      };
    case 'own-certificate-ended':
      return {
        title: `The project’s certificate of ${domain} has ended`,
        text:
          total === 1
            ? 'Visitors are not served. Give a new one. The service gets one from its authority only if the domain leads here.'
            : 'Visitors are not served. Give a new one.',
      };
    case 'token-ending':
      return { title: `The API token ‘${tokenName}’ ends`, text: 'Create another one before that.' };
    case 'quota-full':
      if (quota === 'gigabytesPerMonth')
        return {
          title: 'The traffic of this month is used up',
          text: `All ${total} GB are used: tunnels stand still until the month ends, or until the operator raises the limit.`,
        };
      return {
        title: `No room for more ${quotaNouns[quota]}`,
        text: `All ${total} are used. Delete some, or ask the operator for more.`,
      };
    case 'quota-near':
      if (quota === 'gigabytesPerMonth')
        return { title: 'Little traffic is left this month', text: `${affected} of ${total} GB are used.` };
      return { title: `Little room for more ${quotaNouns[quota]}`, text: `${affected} of ${total} are used.` };
  }
}

export type ConditionCounts = Readonly<Record<TunnelCondition, number>>;

/** How the tunnels stand, in one sentence. As on their badges, a tunnel with a client is connected, even if its upstream fails. */
export function describeConditions(counts: ConditionCounts): string {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const { working, failing } = counts;
  if (total === 0) return 'There is no tunnel yet.';
  const others = rest
    .filter(([condition]) => counts[condition] > 0)
    .map(([condition, words]) => `${counts[condition].toLocaleString('en-US')} ${words}`);
  return `${[describeConnected(working + failing, total), ...describeFailing(working, failing), ...others].join(', ')}.`;
}

function describeConnected(connected: number, total: number): string {
  if (connected === 0) return 'No tunnel is connected';
  if (connected === total) return total === 1 ? 'The tunnel is connected' : `All ${counted(total, 'tunnel')} are connected`;
  return `${connected.toLocaleString('en-US')} of ${counted(total, 'tunnel')} ${connected === 1 ? 'is' : 'are'} connected`;
}

function describeFailing(working: number, failing: number): readonly string[] {
  if (failing === 0) return [];
  return [working === 0 ? 'but failing' : `${failing.toLocaleString('en-US')} of them failing`];
}

const rest: readonly (readonly [TunnelCondition, string])[] = [
  ['down', 'down'],
  ['suspended', 'suspended'],
  ['waiting', 'being set up'],
  ['stopped', 'stopped'],
  ['unused', 'not used yet'],
  ['unknown', 'not known'],
];
