// The filter of an audit log: each choice changes the address at once.
import { type AuditLogKind, auditGroupsOf } from '@underpass/rules/people/audit-groups.ts';
import { useSearchParams } from 'react-router';
import { LogSearch } from '../../list/log-table.tsx';
import { buttonClass } from '../../ui/button.tsx';
import { Field } from '../../ui/input/field.tsx';
import { Input } from '../../ui/input/input.tsx';
import { SelectField } from '../../ui/input/select-field.tsx';
import { filterNames, whenOf } from './audit-filter.ts';

export interface WhoOption {
  readonly value: string;
  readonly label: string;
}

export interface AuditFilterFieldsProps {
  readonly log: AuditLogKind;
  /** Absent: people are found by the search alone. */
  readonly who?: readonly WhoOption[] | undefined;
}

const whenOptions = [
  { value: '', label: 'Any time' },
  { value: 'today', label: 'Today' },
  { value: 'week', label: 'Last 7 days' },
  { value: 'month', label: 'Last 30 days' },
  { value: 'dates', label: 'Between dates' },
];

export function AuditFilterFields({ log, who }: AuditFilterFieldsProps) {
  const [search, setSearch] = useSearchParams();
  const change = (changes: Readonly<Record<string, string>>) => {
    // Of the address, because a choice may follow before the page has shown the one before.
    const next = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries({ ...changes, after: '', before: '' })) {
      if (value === '') next.delete(name);
      else next.set(name, value);
    }
    setSearch(next, { replace: true, preventScrollReset: true });
  };
  const when = whenOf(search);
  const isFiltered = filterNames.some((name) => search.get(name));
  const choice = (name: string, label: string, options: readonly WhoOption[]) => (
    <Choice label={label} value={search.get(name) ?? ''} options={options} onChange={(value) => change({ [name]: value })} />
  );
  return (
    <search aria-label="Filter the audit log" className="flex flex-wrap items-end gap-3">
      <LogSearch label="Search the log" />
      {who && choice('who', 'Who', [{ value: '', label: 'Everybody' }, ...who])}
      {choice('what', 'What', [
        { value: '', label: 'Everything' },
        ...auditGroupsOf(log).map(([value, { label }]) => ({ value, label })),
      ])}
      <Choice
        label="When"
        value={when ?? ''}
        options={whenOptions}
        onChange={(value) => change({ when: value, ...(value === 'dates' ? {} : { from: '', to: '' }) })}
      />
      {when === 'dates' &&
        (['from', 'to'] as const).map((name) => (
          <Field key={name} label={name === 'from' ? 'From' : 'To'} className={fieldClass}>
            {(control) => (
              <Input
                {...control}
                type="date"
                value={search.get(name) ?? ''}
                onChange={(event) => change({ [name]: event.target.value })}
                className="min-w-0"
              />
            )}
          </Field>
        ))}
      {isFiltered && (
        // The button disappears, so the focus goes to the search.
        <button
          type="button"
          className={buttonClass('quiet')}
          onClick={(event) => {
            event.currentTarget.closest('search')?.querySelector('input')?.focus();
            change(Object.fromEntries(filterNames.map((name) => [name, ''])));
          }}
        >
          Clear
        </button>
      )}
    </search>
  );
}

const fieldClass = 'w-[calc(50%-0.375rem)] min-w-0 sm:w-38';

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly WhoOption[];
  readonly onChange: (value: string) => void;
}

/** A value of the address that the options lack, such as a former member, is one too. */
function Choice({ label, value, options, onChange }: ChoiceProps) {
  const known = options.some((option) => option.value === value);
  return (
    <SelectField
      label={label}
      className={fieldClass}
      value={value}
      options={known ? options : [...options, { value, label: value }]}
      onChange={onChange}
    />
  );
}
