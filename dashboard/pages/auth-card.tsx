// The card of the pages before sign-in, its form with the bot check, and the result that replaces it.
import type { botCheckField } from '@underpass/rules/people/bot-check.ts';
import clsx from 'clsx';
import { type ReactNode, useEffect, useRef } from 'react';
import { BotCheck } from '../bot-check/bot-check.tsx';
import { FormFailure } from '../form/form-failure.tsx';
import type { Form } from '../form/use-form.ts';
import { Button } from '../ui/button.tsx';

interface AuthCardProps {
  readonly title: string;
  readonly text?: ReactNode;
  /** A link to the other form, under the card. */
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

interface AuthFormProps {
  readonly form: Omit<Form<Readonly<Record<typeof botCheckField, string>>>, 'values' | 'change' | 'reset'>;
  readonly failureTitle: string;
  readonly submitLabel: string;
  readonly children: ReactNode;
}

export function AuthForm({ form, failureTitle, submitLabel, children }: AuthFormProps) {
  return (
    <form ref={form.ref} noValidate onSubmit={form.onSubmit} className="grid gap-5">
      {children}
      <BotCheck key={form.failures} form={form} />
      <FormFailure form={form} title={failureTitle} />
      <Button type="submit" variant="primary" busy={form.busy} className="w-full">
        {submitLabel}
      </Button>
    </form>
  );
}

interface AuthOutcomeProps {
  readonly title: string;
  readonly text?: ReactNode;
  readonly illustration?: ReactNode;
  readonly action?: ReactNode;
  /** Takes the focus, so that screen readers read what replaces a form. */
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
