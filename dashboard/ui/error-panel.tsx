// Replaces content that failed to load (spec 2, Generic error panel).
import { text } from '@underpass/rules/text/text.ts';
import { Button } from './button.tsx';
import { WentWrongIllustration } from './illustrations/went-wrong.tsx';

interface ErrorPanelProps {
  readonly message?: string | undefined;
  /** Missing if trying again cannot help. */
  readonly onRetry?: (() => void) | undefined;
  /** The page also tries by itself (api/use-again.ts). */
  readonly retriesItself?: boolean;
  readonly busy?: boolean;
}

export function ErrorPanel({ message, onRetry, retriesItself = false, busy = false }: ErrorPanelProps) {
  return (
    <div role="alert" className="flex flex-col items-center gap-4 rounded-lg border bg-surface px-6 py-10 text-center">
      <WentWrongIllustration />
      <div className="grid gap-1">
        <h2 className="text-lg font-bold">{text.error.title}</h2>
        <p className="max-w-lg text-base wrap-anywhere text-ink-soft">{message || text.error.fallback}</p>
        {retriesItself && <p className="text-sm text-ink-faint">This page keeps trying by itself.</p>}
      </div>
      {onRetry && (
        <Button onClick={onRetry} busy={busy}>
          {text.error.retry}
        </Button>
      )}
    </div>
  );
}
