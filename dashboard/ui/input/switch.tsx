// An on/off switch. A click on its label toggles it too.
import { Switch as Base } from '@base-ui/react/switch';
import { type ReactNode, useId } from 'react';

interface SwitchProps {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean;
}

export function Switch({ label, hint, checked, onChange, disabled = false }: SwitchProps) {
  const id = useId();
  return (
    <label htmlFor={id} className="flex min-h-6 items-start gap-3 justify-self-start">
      <Base.Root
        id={id}
        // A native button, so that the label names it and its click toggles it. Base UI's hidden checkbox stays without a name.
        nativeButton
        render={<button type="button" />}
        aria-labelledby={`${id}-label`}
        aria-describedby={hint ? `${id}-hint` : undefined}
        checked={checked}
        onCheckedChange={onChange}
        disabled={disabled}
        className="mt-0.5 flex h-5 w-9 shrink-0 items-center rounded-full border border-edge bg-sunken p-px transition-colors data-checked:border-accent-ink data-checked:bg-accent data-disabled:opacity-55"
      >
        <Base.Thumb className="size-4 rounded-full bg-ink-soft transition-transform data-checked:translate-x-4 data-checked:bg-on-accent" />
      </Base.Root>
      <span className="grid min-w-0 wrap-anywhere">
        <span id={`${id}-label`} className="text-base font-semibold">
          {label}
        </span>
        {hint && (
          <span id={`${id}-hint`} className="text-sm text-ink-soft">
            {hint}
          </span>
        )}
      </span>
    </label>
  );
}
