// Buttons. A busy button keeps its size and the focus.
import clsx from 'clsx';
import type { ComponentProps, ReactNode } from 'react';
import { Ring } from './spinner.tsx';

export type ButtonVariant = 'primary' | 'secondary' | 'quiet' | 'danger';
export type ButtonSize = 'sm' | 'md';

const variants: Record<ButtonVariant, string> = {
  primary: 'bg-accent text-on-accent hover:bg-accent-hover border-transparent',
  secondary: 'bg-surface text-ink border-edge/60 hover:bg-hover',
  quiet: 'bg-transparent text-ink-soft border-transparent hover:bg-hover hover:text-ink',
  danger: 'bg-danger-fill text-on-danger border-transparent hover:brightness-110',
};
const sizes: Record<ButtonSize, string> = { sm: 'min-h-8 px-2.5 text-sm gap-1.5', md: 'min-h-10 px-4 text-base gap-2' };

/** The classes of a place for buttons. One that is wider than the place, on a phone with large text, takes two lines. */
export const actionsClass = 'flex flex-wrap items-center gap-2 *:max-w-full *:whitespace-normal';

/** The classes of a button, for other elements that should look like one. */
export function buttonClass(variant: ButtonVariant = 'secondary', size: ButtonSize = 'md', className?: string): string {
  return clsx(
    'relative inline-flex shrink-0 items-center justify-center rounded-md border font-semibold whitespace-nowrap no-underline select-none',
    'transition-colors duration-150 [&_svg]:size-4 [&_svg]:shrink-0',
    'disabled:pointer-events-none disabled:opacity-55 aria-disabled:cursor-default aria-disabled:opacity-55',
    variants[variant],
    sizes[size],
    className,
  );
}

export interface ButtonProps extends Omit<ComponentProps<'button'>, 'className'> {
  readonly variant?: ButtonVariant;
  readonly size?: ButtonSize;
  readonly icon?: ReactNode;
  /** Makes clicks do nothing, and keeps the focus. */
  readonly busy?: boolean;
  readonly className?: string;
}

export function Button({
  variant,
  size,
  icon,
  busy = false,
  className,
  children,
  onClick,
  type = 'button',
  ...rest
}: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      aria-disabled={busy || rest['aria-disabled']}
      aria-busy={busy || undefined}
      onClick={busy ? (event) => event.preventDefault() : onClick}
      className={buttonClass(variant, size, className)}
    >
      <span className={clsx('inline-flex items-center gap-[inherit]', busy && 'opacity-0')}>
        {icon}
        {children}
      </span>
      {busy && <Ring className="absolute size-4" />}
    </button>
  );
}

/** A square button with an icon. The label is its accessible name and its tooltip. */
export function IconButton({
  label,
  size = 'sm',
  className,
  ...rest
}: Omit<ButtonProps, 'children'> & { readonly label: string }) {
  const square = size === 'sm' ? 'w-8 px-0' : 'w-10 px-0';
  return <Button variant="quiet" {...rest} size={size} aria-label={label} title={label} className={clsx(square, className)} />;
}
