// The detail of an audit entry as lines: what a field was before and is now, and what was added or removed. Pure.
import { isoTime } from '@underpass/rules/text/date.ts';
import { formatDateTime } from '../../ui/date/date-format.ts';

export interface DetailLine {
  readonly name: string;
  /** Present for a field that was replaced. */
  readonly before?: string;
  readonly text: string;
}

type Detail = Readonly<Record<string, unknown>>;

/** Fields that the sentence or another line says. */
const said: ReadonlySet<string> = new Set(['before', 'by', 'apiToken', 'from', 'to']);

export function detailLines(detail: Detail): readonly DetailLine[] {
  const before = isRecord(detail.before) ? detail.before : {};
  return [
    ...pairOf(detail),
    ...Object.entries(detail)
      .filter(([name]) => !said.has(name))
      .flatMap(([name, value]) => linesOf(name, value, before[name])),
  ];
}

/** `from` and `to` of a role; a new name is the entry's target, so it has only `from`. */
function pairOf({ from, to }: Detail): readonly DetailLine[] {
  if (from === undefined && to === undefined) return [];
  return to === undefined
    ? [{ name: 'Before', text: describeValue(from) }]
    : [{ name: 'Changed', before: describeValue(from), text: describeValue(to) }];
}

function linesOf(name: string, value: unknown, before: unknown): readonly DetailLine[] {
  if (isRecord(value)) {
    const was = isRecord(before) ? before : {};
    const isListChange = Array.isArray(value.added) && Array.isArray(value.removed);
    const parts = Object.entries(value).flatMap(([part, each]) => linesOf(part, each, was[part]));
    return parts.map((line) => ({ ...line, name: isListChange ? `${nameOf(name)}, ${line.name.toLowerCase()}` : line.name }));
  }
  // Of a list change, half is often empty.
  if ((name === 'added' || name === 'removed') && Array.isArray(value) && value.length === 0) return [];
  const text = describeValue(value);
  const was = before === undefined ? {} : { before: describeValue(before) };
  return [{ name: nameOf(name), ...was, text }];
}

/** `ingressDomains` reads as `Ingress domains`. */
function nameOf(field: string): string {
  const spaced = field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

function describeValue(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(describeValue).join(', ');
  if (value === '' || value === null || value === undefined) return 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string' && value.includes('T') && isoTime.test(value)) return formatDateTime(value, 'short').text;
  if (!isRecord(value)) return String(value);
  return Object.entries(value)
    .map(([name, each]) => `${nameOf(name).toLowerCase()} ${describeValue(each)}`)
    .join(', ');
}

const isRecord = (value: unknown): value is Detail => typeof value === 'object' && value !== null && !Array.isArray(value);
