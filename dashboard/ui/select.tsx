// One choice out of a short closed set.
import { Select as Base } from '@base-ui/react/select';
import clsx from 'clsx';
import { Check, ChevronsUpDown } from 'lucide-react';
import type { ReactNode } from 'react';
import type { ControlProps } from './field.tsx';
import { useOverlayContainer } from './overlay-container.tsx';

export interface Option<Value extends string> {
  readonly value: Value;
  readonly label: string;
  readonly description?: ReactNode;
  readonly disabled?: boolean;
}

export interface SelectProps<Value extends string> extends Partial<ControlProps> {
  readonly value: Value;
  readonly options: readonly Option<Value>[];
  readonly onChange: (value: Value) => void;
  /** Where no Field gives a label. */
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
  name,
  disabled,
  size = 'md',
  className,
  ...control
}: SelectProps<Value>) {
  return (
    <Base.Root
      value={value}
      onValueChange={(next) => next !== null && onChange(next as Value)}
      items={options.map((option) => ({ value: option.value, label: option.label }))}
      {...(name === undefined ? {} : { name })}
      disabled={disabled ?? false}
      modal={false}
    >
      <Base.Trigger
        {...control}
        aria-label={label}
        className={clsx(
          'flex w-full items-center justify-between gap-2 rounded-md border border-edge bg-surface px-3 text-left text-ink hover:border-ink-faint',
          'data-disabled:bg-sunken data-disabled:opacity-55 aria-invalid:border-danger',
          size === 'sm' ? 'h-8 text-sm' : 'h-10 text-base',
          className,
        )}
      >
        <Base.Value className="truncate" />
        <ChevronsUpDown aria-hidden="true" className="size-4 shrink-0 text-ink-faint" />
      </Base.Trigger>
      <Base.Portal {...useOverlayContainer()}>
        <Base.Positioner sideOffset={4} alignItemWithTrigger={false} className="z-50">
          <Base.Popup className="max-h-(--available-height) w-(--anchor-width) min-w-44 overflow-y-auto rounded-md border bg-raised p-1 shadow-overlay">
            {options.map((option) => (
              <SelectItem key={option.value} option={option} />
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

function SelectItem({ option }: { readonly option: Option<string> }) {
  return (
    <Base.Item
      value={option.value}
      disabled={option.disabled ?? false}
      className="flex cursor-default items-start gap-2 rounded-sm px-2 py-1.5 text-base outline-none select-none data-disabled:opacity-55 data-highlighted:bg-hover"
    >
      <span className="mt-1 size-4 shrink-0 text-accent-ink">
        <Base.ItemIndicator>
          <Check aria-hidden="true" className="size-4" />
        </Base.ItemIndicator>
      </span>
      <span className="min-w-0">
        <Base.ItemText>{option.label}</Base.ItemText>
        {option.description && <span className="block text-sm text-ink-soft">{option.description}</span>}
      </span>
    </Base.Item>
  );
}
