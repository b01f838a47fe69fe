// Asks before a destructive action. Cancel has the focus. The dialog stays open while the action runs, so that it can show a failure.
import { type ReactNode, useRef } from 'react';
import { Button } from '../button.tsx';
import { Dialog } from './dialog.tsx';

interface ConfirmDialogProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly title: string;
  readonly warning: ReactNode;
  readonly cancelLabel?: string;
  /** The text of the red button. */
  readonly confirmLabel: string;
  readonly busy?: boolean;
  /** False until the user has typed the required text. */
  readonly ready?: boolean;
  readonly onConfirm: () => void;
  readonly children?: ReactNode;
}

export function ConfirmDialog({
  open,
  onOpenChange,
  title,
  warning,
  cancelLabel = 'Cancel',
  confirmLabel,
  busy = false,
  ready = true,
  onConfirm,
  children,
}: ConfirmDialogProps) {
  const cancel = useRef<HTMLButtonElement>(null);
  const change = (next: boolean) => busy || onOpenChange(next);
  return (
    <Dialog
      open={open}
      onOpenChange={change}
      title={title}
      description={warning}
      initialFocus={cancel}
      actions={
        <>
          <Button ref={cancel} aria-disabled={busy} onClick={() => change(false)}>
            {cancelLabel}
          </Button>
          <Button variant="danger" busy={busy} disabled={!ready} onClick={onConfirm}>
            {confirmLabel}
          </Button>
        </>
      }
    >
      {children}
    </Dialog>
  );
}
