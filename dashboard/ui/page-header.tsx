// The head of a page: back link, title, badges, actions. It also sets the document's title.
import { ArrowLeft } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link, type To } from 'react-router';
import { actionsClass } from './button.tsx';

interface PageHeaderProps {
  readonly title: string;
  readonly badges?: ReactNode;
  readonly subtitle?: ReactNode;
  readonly actions?: ReactNode;
  readonly back?: To;
  /** The page is a table, which uses more of a large window. */
  readonly wide?: boolean;
}

export function PageHeader({ title, badges, subtitle, actions, back, wide = false }: PageHeaderProps) {
  return (
    <div data-wide={wide || undefined} className="mb-6 grid gap-2">
      <title>{`${title} · Underpass`}</title>
      {back !== undefined && (
        <Link
          to={back}
          className="-ml-1 inline-flex min-h-6 w-fit items-center gap-1 rounded-sm px-1 text-sm font-semibold text-ink-soft hover:text-ink"
        >
          <ArrowLeft aria-hidden="true" className="size-4" />
          Back
        </Link>
      )}
      <div className="flex flex-wrap items-start gap-x-6 gap-y-3">
        <div className="min-w-0 flex-1 basis-72">
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <h1 tabIndex={-1} className="text-2xl font-bold tracking-tight wrap-anywhere">
              {title}
            </h1>
            {badges}
          </div>
          {subtitle && <div className="mt-1 text-base text-ink-soft wrap-anywhere">{subtitle}</div>}
        </div>
        {actions && <div className={actionsClass}>{actions}</div>}
      </div>
    </div>
  );
}
