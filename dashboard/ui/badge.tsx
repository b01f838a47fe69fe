// A state in one word. The word and the shape of the dot carry the meaning; colour only supports it.
import clsx from 'clsx';
import type { ReactNode } from 'react';

export type Tone = 'neutral' | 'ok' | 'info' | 'warn' | 'danger' | 'accent';

const tones: Record<Tone, string> = {
  neutral: 'bg-sunken text-ink-soft',
  ok: 'bg-ok-soft text-ok',
  info: 'bg-info-soft text-info',
  warn: 'bg-warn-soft text-warn',
  danger: 'bg-danger-soft text-danger',
  accent: 'bg-accent-soft text-accent-ink',
};

export interface BadgeProps {
  readonly tone?: Tone;
  /** Filled: active. Ring: not active yet. */
  readonly dot?: 'filled' | 'ring' | undefined;
  readonly children: ReactNode;
  readonly className?: string;
}

export function Badge({ tone = 'neutral', dot, children, className }: BadgeProps) {
  return (
    <span
      className={clsx(
        'inline-flex h-6 items-center gap-1.5 rounded-sm px-2 text-sm font-semibold whitespace-nowrap',
        tones[tone],
        className,
      )}
    >
      {dot && (
        <span
          aria-hidden="true"
          className={clsx('size-2 rounded-full', dot === 'filled' ? 'bg-current' : 'border-[1.5px] border-current')}
        />
      )}
      {children}
    </span>
  );
}
