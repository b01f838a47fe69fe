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

/** Filled: works. Ring: not active yet. Square: stopped. Cross: fails. Borders and strokes stay visible in forced colours. */
export type Dot = 'filled' | 'ring' | 'square' | 'cross';

interface BadgeProps {
  readonly tone?: Tone;
  readonly dot?: Dot | undefined;
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
      {dot && <DotMark dot={dot} />}
      {children}
    </span>
  );
}

const shapes: Readonly<Record<Exclude<Dot, 'cross'>, string>> = {
  filled: 'rounded-full border-4',
  ring: 'rounded-full border-[1.5px]',
  square: 'rounded-[1px] border-4',
};

function DotMark({ dot }: { readonly dot: Dot }) {
  if (dot !== 'cross') return <span aria-hidden="true" className={clsx('size-2 border-current', shapes[dot])} />;
  return (
    <svg aria-hidden="true" viewBox="0 0 8 8" className="size-2.5">
      <path d="m1 1 6 6m0-6-6 6" stroke="currentColor" strokeWidth="1.75" strokeLinecap="round" />
    </svg>
  );
}
