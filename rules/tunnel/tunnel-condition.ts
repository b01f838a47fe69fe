// What a tunnel's status means for its visitors, as screens and notices tell it. One condition has one meaning, and one colour.

import { decideDisplayStatus, type StatusTone } from './tunnel-status.ts';

/**
 * `positive`: visitors are served. `negative`: they get an error now. `waiting`: it is being set up. `neutral`: nobody expects it to
 * work, or it is not known.
 */
export const tunnelConditions = {
  working: { tone: 'positive', label: '' },
  failing: { tone: 'negative', label: 'Upstream does not answer' },
  down: { tone: 'negative', label: 'Lost' },
  suspended: { tone: 'negative', label: 'Suspended' },
  waiting: { tone: 'waiting', label: 'Domain not verified' },
  stopped: { tone: 'neutral', label: 'Stopped' },
  unused: { tone: 'neutral', label: 'Not used yet' },
  unknown: { tone: 'neutral', label: '' },
} as const satisfies Readonly<Record<string, { readonly tone: StatusTone; readonly label: string }>>;

export type TunnelCondition = keyof typeof tunnelConditions;

export interface ConditionFacts {
  readonly status: string;
  readonly connectedClients?: number | undefined;
  /** Connected clients with an upstream that does not answer. */
  readonly failingClients?: number | undefined;
  /** Undefined: it is not known whether there ever was one. Null: there was none. */
  readonly lastClient?: { readonly onPurpose: boolean } | null | undefined;
  readonly isSuspended?: boolean;
}

/** A tunnel without a client is down only if its client did not say goodbye. */
export function decideCondition(facts: ConditionFacts): TunnelCondition {
  if (facts.isSuspended) return 'suspended';
  const { connectedClients = 0, failingClients = 0, lastClient } = facts;
  switch (decideDisplayStatus(facts)) {
    case 'Connected':
      return failingClients < connectedClients ? 'working' : 'failing';
    case 'Disconnected':
      if (lastClient === undefined) return 'unknown';
      if (lastClient === null) return 'unused';
      return lastClient.onPurpose ? 'stopped' : 'down';
    case 'Pending':
      return 'waiting';
    case 'Unknown':
      return 'unknown';
  }
}

/** The condition that a control of an earlier version does not send: it tells a lost client from one that somebody stopped. */
export const conditionOf = (tunnel: Omit<ConditionFacts, 'lastClient'> & { readonly condition?: TunnelCondition | undefined }) =>
  tunnel.condition ?? decideCondition(tunnel);

/** Conditions from the most to the least urgent: lists show failing tunnels first. */
const urgency: readonly TunnelCondition[] = [
  'down',
  'failing',
  'suspended',
  'waiting',
  'working',
  'unknown',
  'stopped',
  'unused',
];

export const rankCondition = (condition: TunnelCondition): number => urgency.indexOf(condition);
