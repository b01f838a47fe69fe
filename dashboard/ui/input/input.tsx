// Text inputs and the checkbox: native elements with the product's styles.
import clsx from 'clsx';
import type { ComponentProps, ReactNode } from 'react';

const control =
  'w-full rounded-md border border-edge bg-surface text-base text-ink placeholder:text-ink-faint transition-colors hover:border-ink-faint ' +
  'aria-invalid:border-danger disabled:opacity-55 disabled:bg-sunken';

export interface InputProps extends ComponentProps<'input'> {
  /** Monospaced, for names and addresses that users check letter by letter. */
  readonly mono?: boolean;
  /** Inside, at the end: a suffix or a button. */
  readonly end?: ReactNode;
}

export function Input({ mono = false, end, className, ...rest }: InputProps) {
  const input = (
    <input {...rest} className={clsx(control, 'h-10 px-3', mono && 'font-mono text-sm', end && 'pr-11', className)} />
  );
  if (!end) return input;
  return (
    <span className="relative block">
      {input}
      <span className="absolute inset-y-0 right-1 flex items-center">{end}</span>
    </span>
  );
}

export function Textarea({ className, ...rest }: ComponentProps<'textarea'>) {
  return <textarea {...rest} className={clsx(control, 'min-h-24 px-3 py-2', className)} />;
}

export function Checkbox({ children, className, ...rest }: ComponentProps<'input'>) {
  return (
    <label className={clsx('flex items-start gap-2.5 text-base', className)}>
      <input {...rest} type="checkbox" className="mt-1 size-4 shrink-0 accent-accent" />
      <span>{children}</span>
    </label>
  );
}
