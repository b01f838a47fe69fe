// A choice between a few options with a description each.
import { useId } from 'react';

interface RadioCardsProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly { readonly value: Value; readonly label: string; readonly description: string }[];
  readonly onChange: (value: Value) => void;
}

export function RadioCards<Value extends string>({ label, value, options, onChange }: RadioCardsProps<Value>) {
  const name = useId();
  return (
    <fieldset className="grid min-w-0 grid-cols-1 gap-1.5">
      <legend className="mb-1.5 text-sm font-semibold">{label}</legend>
      <div className="grid grid-cols-1 gap-2 sm:grid-cols-2">
        {options.map((option) => (
          <label
            key={option.value}
            className="flex cursor-pointer gap-3 rounded-md border border-edge bg-surface px-3 py-2.5 hover:bg-hover has-checked:border-accent-ink has-checked:bg-accent-soft has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-focus"
          >
            <input
              type="radio"
              name={name}
              value={option.value}
              checked={option.value === value}
              onChange={() => onChange(option.value)}
              aria-describedby={`${name}-${option.value}`}
              className="mt-1 size-4 shrink-0 accent-accent-ink outline-none"
            />
            <span className="min-w-0 wrap-anywhere">
              <span className="block font-semibold">{option.label}</span>
              <span id={`${name}-${option.value}`} className="block text-sm text-ink-soft">
                {option.description}
              </span>
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
