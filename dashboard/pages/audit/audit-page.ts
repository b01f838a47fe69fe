// Pages of an audit log: the filter of an address, and what is shown when the newest page comes anew. Pure.
import type { AuditPage } from '@underpass/rules/resource.ts';
import type { AuditFilter } from '../../api/audit.ts';

/** The day that ends the filter is part of it. */
export function auditFilterOf(search: URLSearchParams): AuditFilter {
  const from = search.get('from');
  const to = search.get('to');
  return {
    action: search.get('action') || undefined,
    actor: search.get('actor') || undefined,
    from: from ? startOfDay(from) : undefined,
    to: to ? startOfDay(to, 1) : undefined,
  };
}

/** Days are the reader's own. */
function startOfDay(day: string, plusDays = 0): string | undefined {
  const at = new Date(`${day}T00:00:00`);
  if (Number.isNaN(at.getTime())) return undefined;
  at.setDate(at.getDate() + plusDays);
  return at.toISOString();
}

/** All that is known, and above it what has come since. Where that fills the newest page, what lies between is not known: it alone. */
export function withNewest(known: AuditPage, newest: AuditPage): AuditPage {
  const joint = newest.entries.findIndex(({ id }) => id === known.entries[0]?.id);
  return joint < 0 ? newest : { ...known, entries: [...newest.entries.slice(0, joint), ...known.entries] };
}
