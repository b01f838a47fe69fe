// A choice from a short list: the native control. styles/app.css styles the open list in browsers that support customizable
// select; other browsers show the system's list.
import clsx from 'clsx';
import { ChevronsUpDown } from 'lucide-react';
import type { ControlProps } from './field.tsx';

interface Option<Value extends string> {
  readonly value: Value;
  readonly label: string;
  /** Text in parentheses after the label. */
  readonly description?: string;
  readonly disabled?: boolean;
}

export interface SelectProps<Value extends string> extends Partial<ControlProps> {
  readonly value: Value;
  readonly options: readonly Option<Value>[];
  readonly onChange: (value: Value) => void;
  /** The label of one without a Field. */
  readonly label?: string;
  readonly name?: string;
  readonly disabled?: boolean;
  readonly size?: 'sm' | 'md';
  readonly className?: string;
}

export function Select<Value extends string>({
  value,
  options,
  onChange,
  label,
  size = 'md',
  className,
  ...rest
}: SelectProps<Value>) {
  return (
    <span className={clsx('relative block', className)}>
      <select
        {...rest}
        aria-label={label}
        value={value}
        onChange={(event) => onChange(event.target.value as Value)}
        className={clsx(
          'picker w-full cursor-pointer appearance-none truncate rounded-md border border-edge bg-surface pr-9 pl-3 text-left text-ink',
          'transition-colors hover:border-ink-faint disabled:bg-sunken disabled:opacity-55 aria-invalid:border-danger',
          size === 'sm' ? 'h-8 text-sm' : 'h-10 text-base',
        )}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value} disabled={option.disabled}>
            {option.description ? `${option.label} (${option.description})` : option.label}
          </option>
        ))}
      </select>
      <ChevronsUpDown
        aria-hidden="true"
        className="pointer-events-none absolute top-1/2 right-3 size-4 -translate-y-1/2 text-ink-faint"
      />
    </span>
  );
}
