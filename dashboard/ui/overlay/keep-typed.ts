// Keeps what somebody has typed in a panel or dialog: a click beside it does not close it, and a panel asks before it closes. While it
// is being sent, the same holds without typed text, because a failure shows only where the form is.
import type { Dialog } from '@base-ui/react/dialog';
import { useEffect, useRef } from 'react';

export interface KeepTyped {
  readonly onOpenChange: (open: boolean, details: Dialog.Root.ChangeEventDetails) => void;
  /** Hears every field in the popup. */
  readonly onInput: () => void;
  /** Closes it by another way, such as a Cancel button. */
  readonly leave: (close: () => void) => void;
}

/**
 * Escape, Cancel and the close button call `ask`, which shows a question; where it returns false, and without it, they close at
 * once.
 */
export function useKeepTyped(
  open: boolean,
  onOpenChange: (open: boolean) => void,
  ask = () => false,
  isSending = false,
): KeepTyped {
  const typed = useRef(false);
  useEffect(() => {
    if (!open) typed.current = false;
  }, [open]);
  const mayLose = () => typed.current || isSending;
  return {
    onOpenChange: (next, details) => {
      if (mayLose() && (details.reason === 'outside-press' || ask())) details.cancel();
      else onOpenChange(next);
    },
    onInput: () => {
      typed.current = true;
    },
    leave: (close) => {
      if (!(mayLose() && ask())) close();
    },
  };
}
