// A text input of a form: label, hint and error around it, its value in the form's state.
import type { ComponentProps, ReactNode } from 'react';
import { Field } from '../ui/field.tsx';
import { Input, type InputProps } from '../ui/input.tsx';
import type { Form } from './use-form.ts';

export interface TextFieldProps<Name extends string> extends Omit<InputProps, 'form' | 'name' | 'value' | 'onChange'> {
  readonly form: Form<Name>;
  readonly name: Name;
  readonly label: string;
  readonly hint?: ReactNode;
  readonly optional?: boolean;
  readonly fieldClassName?: string;
}

export function TextField<Name extends string>(props: TextFieldProps<Name>) {
  const { form, name, label, hint, optional, fieldClassName, ...input } = props;
  const field: Pick<ComponentProps<typeof Field>, 'label' | 'hint' | 'error'> = { label, hint, error: form.errors[name] };
  return (
    <Field {...field} {...(optional ? { optional } : {})} {...(fieldClassName ? { className: fieldClassName } : {})}>
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
