// The filter of the audit log: a form that changes the URL.
import { useEffect, useRef } from 'react';
import { Form, Link } from 'react-router';
import { Button, buttonClass } from '../../ui/button.tsx';
import { Field } from '../../ui/input/field.tsx';
import { Input } from '../../ui/input/input.tsx';

const fields = [
  { name: 'action', label: 'Action', type: 'search', placeholder: undefined },
  { name: 'actor', label: 'Who', type: 'search', placeholder: 'ada@example.com' },
  { name: 'from', label: 'From', type: 'date', placeholder: undefined },
  { name: 'to', label: 'To', type: 'date', placeholder: undefined },
] as const;

export interface AuditFilterFormProps {
  readonly search: URLSearchParams;
  /** The placeholder: an action that this log contains. */
  readonly example: string;
}

export function AuditFilterForm({ search, example }: AuditFilterFormProps) {
  const form = useRef<HTMLFormElement>(null);
  const address = search.toString();
  // Back, Forward and Clear change the address without the form. A reset shows the new default values.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each address.
  useEffect(() => form.current?.reset(), [address]);
  const filtered = fields.some(({ name }) => search.get(name));
  return (
    <Form ref={form} role="search" aria-label="Filter the audit log" className="flex flex-wrap items-end gap-3">
      {fields.map(({ name, label, type, placeholder }) => (
        <Field key={name} label={label} className="w-[calc(50%-0.375rem)] min-w-0 sm:w-36 sm:max-w-44 sm:grow">
          {(control) => (
            <Input
              {...control}
              name={name}
              type={type}
              placeholder={name === 'action' ? example : placeholder}
              defaultValue={search.get(name) ?? ''}
              className="min-w-0"
            />
          )}
        </Field>
      ))}
      <Button type="submit">Filter</Button>
      {filtered && (
        // The link disappears, so the focus goes to the button before it.
        <Link to="." onClick={() => form.current?.querySelector('button')?.focus()} className={buttonClass('quiet')}>
          Clear
        </Link>
      )}
    </Form>
  );
}
