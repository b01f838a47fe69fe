// A choice from a short list, with its label, hint and error.
import { Field, type FieldProps } from './field.tsx';
import { Select, type SelectProps } from './select.tsx';

interface SelectFieldProps<Value extends string>
  extends Omit<FieldProps, 'children'>,
    Pick<SelectProps<Value>, 'value' | 'options' | 'onChange' | 'disabled'> {}

export function SelectField<Value extends string>(props: SelectFieldProps<Value>) {
  const { value, options, onChange, disabled = false, ...field } = props;
  return (
    <Field {...field}>
      {(control) => <Select {...control} value={value} options={options} onChange={onChange} disabled={disabled} />}
    </Field>
  );
}
