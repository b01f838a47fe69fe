// What is shown where something could not be loaded (spec 2, Generic error panel).
import { TriangleAlert } from 'lucide-react';
import { Button } from './button.tsx';

export interface ErrorPanelProps {
  readonly message?: string | undefined;
  /** Absent where trying again cannot help. */
  readonly onRetry?: (() => void) | undefined;
  readonly busy?: boolean;
}

export function ErrorPanel({ message, onRetry, busy = false }: ErrorPanelProps) {
  return (
    <div role="alert" className="flex flex-col items-center gap-4 rounded-lg border bg-surface px-6 py-12 text-center">
      <TriangleAlert aria-hidden="true" className="size-8 text-danger" />
      <div className="grid gap-1">
        <h2 className="text-lg font-bold">Something went wrong.</h2>
        <p className="max-w-lg text-base wrap-anywhere text-ink-soft">{message || 'Please try again.'}</p>
      </div>
      {onRetry && (
        <Button onClick={onRetry} busy={busy}>
          Try Again
        </Button>
      )}
    </div>
  );
}
