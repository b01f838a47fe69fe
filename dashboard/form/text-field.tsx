// A text input of a form: label, hint and error around it, its value in the form's state.
import type { ReactNode } from 'react';
import { Field } from '../ui/input/field.tsx';
import { Input, type InputProps } from '../ui/input/input.tsx';
import type { Form } from './use-form.ts';

interface TextFieldProps<Name extends string> extends Omit<InputProps, 'form' | 'name' | 'value' | 'onChange'> {
  readonly form: Pick<Form<Readonly<Record<NoInfer<Name>, string>>>, 'values' | 'errors' | 'set'>;
  readonly name: Name;
  readonly label: string;
  readonly hint?: ReactNode;
  readonly optional?: boolean;
  /** Shown when the form has no message of its own for the field. */
  readonly error?: string | undefined;
}

export function TextField<Name extends string>(props: TextFieldProps<Name>) {
  const { form, name, label, hint, optional = false, error, ...input } = props;
  return (
    <Field label={label} hint={hint} error={form.errors[name] ?? error} optional={optional}>
      {(control) => (
        <Input
          {...input}
          {...control}
          name={name}
          value={form.values[name]}
          onChange={(event) => form.set(name, event.target.value)}
        />
      )}
    </Field>
  );
}
