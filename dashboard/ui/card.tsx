// A titled box around related content, with its actions.
import clsx from 'clsx';
import { type ReactNode, useId } from 'react';
import { actionsClass } from './button.tsx';

interface CardProps {
  readonly title?: ReactNode;
  readonly description?: ReactNode;
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
  /** No padding around the content: tables and lists have their own. */
  readonly flush?: boolean;
  readonly className?: string;
}

export function Card({ title, description, actions, children, flush = false, className }: CardProps) {
  const id = useId();
  return (
    <section aria-labelledby={title ? id : undefined} className={clsx('min-w-0 rounded-lg border bg-surface', className)}>
      {(title || actions) && (
        <div className={clsx('flex flex-wrap items-start gap-x-4 gap-y-2 px-4 pt-4 sm:px-5', (flush || !children) && 'pb-4')}>
          <div className="min-w-0 flex-1 basis-52">
            <h2 id={id} className="text-lg font-bold">
              {title}
            </h2>
            {description && <p className="mt-0.5 text-sm text-ink-soft">{description}</p>}
          </div>
          {actions && <div className={actionsClass}>{actions}</div>}
        </div>
      )}
      {children && <div className={flush ? undefined : 'p-4 sm:p-5'}>{children}</div>}
    </section>
  );
}
