// Shows a secret the one time that it can be shown, with a button that copies it.
import { useRef } from 'react';
import { Banner } from './banner.tsx';
import { Button } from './button.tsx';
import { CopyTextButton } from './copy-button.tsx';
import { Dialog } from './dialog.tsx';

export interface SecretDialogProps {
  readonly title: string;
  /** What the secret is called on its field. */
  readonly label: string;
  /** undefined: nothing to show. */
  readonly secret: string | undefined;
  /** How it is used. */
  readonly hint?: string;
  readonly onClose: () => void;
}

export function SecretDialog({ title, label, secret, hint, onClose }: SecretDialogProps) {
  // While the dialog fades the secret is already gone from the page's state.
  const shown = useRef(secret);
  if (secret !== undefined) shown.current = secret;
  return (
    <Dialog
      open={secret !== undefined}
      onOpenChange={(open) => open || onClose()}
      title={title}
      description="Copy it now and keep it in a safe place. It is not shown again."
      actions={
        <Button variant="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <div className="grid gap-3">
        <div className="flex flex-wrap items-center gap-2 rounded-md border bg-sunken p-2 pl-3">
          <output aria-label={label} className="min-w-0 flex-1 basis-56 font-mono text-sm break-all select-all">
            {shown.current}
          </output>
          <CopyTextButton text={shown.current ?? ''} />
        </div>
        {hint && <Banner>{hint}</Banner>}
      </div>
    </Dialog>
  );
}
