// Replaces an empty list: what it is for, and how to add the first entry.
import type { ReactNode } from 'react';
import { actionsClass } from './button.tsx';

export interface EmptyStateProps {
  readonly title: string;
  readonly text: ReactNode;
  readonly action?: ReactNode;
  readonly illustration?: ReactNode;
}

export function EmptyState({ title, text, action, illustration }: EmptyStateProps) {
  return (
    <div className="flex flex-col items-center gap-4 rounded-lg border border-dashed border-edge/60 px-6 py-12 text-center">
      {illustration && <div className="text-ink-faint">{illustration}</div>}
      <div className="grid gap-1">
        <h2 className="text-lg font-bold">{title}</h2>
        <p className="max-w-md text-base wrap-anywhere text-ink-soft">{text}</p>
      </div>
      {action && <div className={`${actionsClass} max-w-full justify-center`}>{action}</div>}
    </div>
  );
}
