// What is left to do until visitors reach a tunnel (spec 4, Setup checklist).

import type { DomainBadge } from './domain-badge.ts';

export interface ChecklistItem {
  readonly id: 'verified' | 'dns' | 'connected';
  readonly title: string;
  readonly done: boolean;
  /** Neither done nor to do: the check runs, or has failed. */
  readonly unknown?: 'loading' | 'failed';
  readonly text: string;
}

export interface ChecklistDomain {
  readonly verified: boolean;
  readonly badge: DomainBadge;
}

/** Renders the steps. In a text's `X/Y`, X counts the domains that still need work and Y all domains of the tunnel. */
export function renderChecklist(domains: readonly ChecklistDomain[], connectedClients: number): readonly ChecklistItem[] {
  return [verifiedItem(domains), dnsItem(domains), connectedItem(connectedClients)];
}

/** The list is shown only while something is incomplete. A check that still runs does not show it: most find nothing. */
export function isSetupComplete(items: readonly ChecklistItem[]): boolean {
  return items.every((item) => item.done || item.unknown === 'loading');
}

function verifiedItem(domains: readonly ChecklistDomain[]): ChecklistItem {
  const left = domains.filter((domain) => !domain.verified).length;
  return item('verified', 'Domains verified', left === 0, {
    pending: `Configure DNS to verify ownership of ${left}/${domains.length} domains.`,
    done: 'All domains are verified.',
  });
}

function dnsItem(domains: readonly ChecklistDomain[]): ChecklistItem {
  const count = (badge: DomainBadge) => domains.filter((domain) => domain.badge === badge).length;
  const [left, loading, unknown] = [count('no_dns'), count('loading'), count('unknown')];
  if (left === 0 && loading > 0) return unknownDns('loading', 'Checking DNS.');
  if (left === 0 && unknown > 0)
    return unknownDns('failed', `DNS of ${unknown}/${domains.length} tunnel domains was not checked.`);
  return item('dns', 'DNS configured', left === 0, {
    pending: `Configure DNS for ${left}/${domains.length} tunnel domains.`,
    done: 'DNS has been configured.',
  });
}

/** `done` needs the result of every look-up. */
const unknownDns = (unknown: 'loading' | 'failed', text: string): ChecklistItem => ({
  id: 'dns',
  title: 'DNS configured',
  done: false,
  unknown,
  text,
});

function connectedItem(clients: number): ChecklistItem {
  return item('connected', 'Connected', clients > 0, {
    pending: 'Connect a tunnel client.',
    done: `Connected clients: ${clients}`,
  });
}

function item(id: ChecklistItem['id'], title: string, done: boolean, texts: { pending: string; done: string }): ChecklistItem {
  return { id, title, done, text: done ? texts.done : texts.pending };
}
