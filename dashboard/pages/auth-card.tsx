// The one card of the pages before sign-in, and what stands in its place when its work is done.
import clsx from 'clsx';
import { type ReactNode, useEffect, useRef } from 'react';

export interface AuthCardProps {
  readonly title: string;
  readonly text?: ReactNode;
  /** Under the card: the way to the other form. */
  readonly foot?: ReactNode;
  readonly wide?: boolean;
  readonly children: ReactNode;
}

export function AuthCard({ title, text, foot, wide = false, children }: AuthCardProps) {
  return (
    <div className={clsx('mx-auto w-full', wide ? 'max-w-2xl' : 'max-w-md')}>
      <title>{`${title} · Underpass`}</title>
      <div className="rounded-lg border bg-surface p-5 sm:p-8">
        <h1 tabIndex={-1} className="text-2xl font-bold tracking-tight">
          {title}
        </h1>
        {text && <p className="mt-1 text-base text-ink-soft">{text}</p>}
        <div className="mt-6">{children}</div>
      </div>
      {foot && (
        <p className="mt-5 text-center text-base text-ink-soft [&_a]:font-semibold [&_a]:text-ink [&_a]:underline [&_a]:underline-offset-3">
          {foot}
        </p>
      )}
    </div>
  );
}

export interface AuthOutcomeProps {
  readonly title: string;
  readonly text?: ReactNode;
  readonly illustration?: ReactNode;
  readonly action?: ReactNode;
  /** It came in place of a form: the focus goes to it, and so it is read. */
  readonly takesFocus?: boolean;
}

export function AuthOutcome({ title, text, illustration, action, takesFocus = true }: AuthOutcomeProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (takesFocus) heading.current?.focus();
  }, [takesFocus]);
  return (
    <div className="mx-auto grid w-full max-w-md justify-items-center gap-5 text-center">
      <title>{`${title} · Underpass`}</title>
      {illustration}
      <div className="grid gap-2">
        <h1 ref={heading} tabIndex={-1} className="text-xl font-bold tracking-tight wrap-anywhere">
          {title}
        </h1>
        {text && <p className="text-base text-ink-soft">{text}</p>}
      </div>
      {action}
    </div>
  );
}
