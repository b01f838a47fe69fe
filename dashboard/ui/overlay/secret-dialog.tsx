// Shows a new secret once, with a copy button.
import type { ReactNode } from 'react';
import { Banner } from '../banner.tsx';
import { Button } from '../button.tsx';
import { CopyTextButton } from '../copy-button.tsx';
import { useLast } from '../use-last.ts';
import { Dialog } from './dialog.tsx';

interface SecretDialogProps {
  readonly title: string;
  /** The accessible name of the secret. */
  readonly label: string;
  /** undefined keeps the dialog closed. */
  readonly secret: string | undefined;
  /** How it is used. */
  readonly hint?: string;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}

export function SecretDialog({ title, label, secret, hint, onClose, children }: SecretDialogProps) {
  // While the dialog fades out, the page's state no longer has the secret.
  const shown = useLast(secret);
  return (
    <Dialog
      once
      open={secret !== undefined}
      onOpenChange={(open) => open || onClose()}
      title={title}
      description="Copy this and store it safely. It will not be shown again."
      actions={
        <Button variant="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <div className="grid gap-3">
        <div className="flex flex-wrap items-center gap-2 rounded-md border bg-sunken p-2 pl-3">
          <output
            aria-label={label}
            className="min-w-0 flex-1 basis-56 font-mono text-sm break-all whitespace-pre-line select-all"
          >
            {shown}
          </output>
          <CopyTextButton text={shown ?? ''} />
        </div>
        {hint && <Banner>{hint}</Banner>}
        {children}
      </div>
    </Dialog>
  );
}
