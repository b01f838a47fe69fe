// What is left to do until visitors reach a tunnel (spec 4, Setup checklist).

import type { DomainBadge } from './domain-badge.ts';

export interface ChecklistItem {
  readonly id: 'verified' | 'dns' | 'connected';
  readonly title: string;
  readonly done: boolean;
  readonly text: string;
}

export interface ChecklistDomain {
  readonly verified: boolean;
  readonly badge: DomainBadge;
}

/** In a text's `X/Y`, X counts the domains that still need work and Y all domains of the tunnel. */
export function renderChecklist(domains: readonly ChecklistDomain[], connectedClients: number): readonly ChecklistItem[] {
  return [verifiedItem(domains), dnsItem(domains), connectedItem(connectedClients)];
}

/** The list is shown only while something is incomplete. */
export function isSetupComplete(items: readonly ChecklistItem[]): boolean {
  return items.every((item) => item.done);
}

function verifiedItem(domains: readonly ChecklistDomain[]): ChecklistItem {
  const left = domains.filter((domain) => !domain.verified).length;
  return item('verified', 'Domains verified', left === 0, {
    pending: `Configure DNS to verify ownership of ${left}/${domains.length} domains.`,
    done: 'All domains are verified.',
  });
}

function dnsItem(domains: readonly ChecklistDomain[]): ChecklistItem {
  const left = domains.filter((domain) => domain.badge === 'no_dns').length;
  return item('dns', 'DNS configured', left === 0, {
    pending: `Configure DNS for ${left}/${domains.length} tunnel domains.`,
    done: 'DNS has been configured.',
  });
}

function connectedItem(clients: number): ChecklistItem {
  return item('connected', 'Connected', clients > 0, {
    pending: 'Connect a tunnel client.',
    done: `Connected clients: ${clients}`,
  });
}

function item(id: ChecklistItem['id'], title: string, done: boolean, texts: { pending: string; done: string }): ChecklistItem {
  return { id, title, done, text: done ? texts.done : texts.pending };
}
