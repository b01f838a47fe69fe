// What the address of an audit log asks for: words, who, what and when. Pure.
import { actionsOf } from '@underpass/rules/people/audit-groups.ts';

/** Spans of days that end today. */
export const spans = { today: 0, week: 6, month: 29 } as const;

export type When = keyof typeof spans | 'dates';

interface AuditFilter {
  readonly q?: string | undefined;
  readonly action?: string | undefined;
  readonly actor?: string | undefined;
  readonly by?: string | undefined;
  /** ISO 8601. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly before?: string | undefined;
  readonly after?: string | undefined;
}

/** The parameters that leave out entries. */
export const filterNames = ['q', 'who', 'what', 'when', 'from', 'to'] as const;

/** `who` names an e-mail, or a token as the calls do. In the address `after` is the next page, as in every list: an older one. */
export function auditFilterOf(search: URLSearchParams, nowMs: number): AuditFilter {
  const get = (name: string) => search.get(name) || undefined;
  const who = get('who');
  const isToken = who?.startsWith('api-token') === true && !who.includes('@');
  return {
    q: get('q'),
    actor: isToken ? undefined : who,
    by: isToken ? who : undefined,
    action: actionsOf(get('what') ?? ''),
    ...timesOf(whenOf(search), search, nowMs),
    before: get('after'),
    after: get('before'),
  };
}

export function whenOf(search: URLSearchParams): When | undefined {
  const when = search.get('when') ?? '';
  return when === 'dates' || Object.hasOwn(spans, when) ? (when as When) : undefined;
}

function timesOf(when: When | undefined, search: URLSearchParams, nowMs: number): Pick<AuditFilter, 'from' | 'to'> {
  if (when === undefined) return {};
  if (when !== 'dates') return { from: startOfDay(new Date(nowMs), -spans[when]) };
  const [from, to] = ['from', 'to'].map((name) => new Date(`${search.get(name) ?? ''}T00:00:00`));
  return { from: startOfDay(from!), to: startOfDay(to!, 1) };
}

/** Days are in the reader's time zone, and the last one is included. */
function startOfDay(day: Date, plusDays = 0): string | undefined {
  if (Number.isNaN(day.getTime())) return undefined;
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + plusDays).toISOString();
}
