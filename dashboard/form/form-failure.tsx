// Why the last submit of a form failed.
import type { ReactNode } from 'react';
import { Banner } from '../ui/banner.tsx';
import type { Form } from './use-form.ts';

interface FormFailureProps {
  readonly form: Pick<Form<object>, 'failure' | 'dismissFailure'>;
  /** What failed. */
  readonly title?: string | undefined;
  readonly action?: ReactNode;
}

export function FormFailure({ form, title, action }: FormFailureProps) {
  if (form.failure === undefined) return null;
  return (
    <Banner tone="danger" title={title} action={action} onDismiss={form.dismissFailure}>
      {form.failure}
    </Banner>
  );
}
