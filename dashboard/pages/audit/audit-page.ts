// Pages of an audit log: the filter from the URL, and the merge of a reloaded first page with older pages. Pure.

/** A page of any log. */
export interface LogPage<Entry> {
  readonly entries: readonly Entry[];
  /** The next page's `before`; null on the last. */
  readonly next: string | null;
}

export interface AuditFilter {
  readonly action?: string | undefined;
  readonly actor?: string | undefined;
  /** ISO 8601. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** The filter includes its last day. */
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

/** Days are in the reader's time zone. */
function startOfDay(day: string, plusDays = 0): string | undefined {
  const at = new Date(`${day}T00:00:00`);
  if (Number.isNaN(at.getTime())) return undefined;
  at.setDate(at.getDate() + plusDays);
  return at.toISOString();
}

/**
 * The known entries with newer ones on top. If the newest page has only new entries, some between may be missing, so only that
 * page is kept.
 */
export function withNewest<Entry extends { readonly id: string }>(known: LogPage<Entry>, newest: LogPage<Entry>): LogPage<Entry> {
  const joint = newest.entries.findIndex(({ id }) => id === known.entries[0]?.id);
  return joint < 0 ? newest : { ...known, entries: [...newest.entries.slice(0, joint), ...known.entries] };
}
