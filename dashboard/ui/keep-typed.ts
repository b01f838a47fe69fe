// A click beside a panel or dialog closes it, unless it would discard what somebody has typed there.
import type { Dialog } from '@base-ui/react/dialog';
import { useRef } from 'react';

export interface KeepTyped {
  readonly onOpenChange: (open: boolean, details: Dialog.Root.ChangeEventDetails) => void;
  /** For the popup: hears every field in it. */
  readonly onInput: () => void;
}

/** Escape, Cancel and the close button still close it. */
export function useKeepTyped(open: boolean, onOpenChange: (open: boolean) => void): KeepTyped {
  const typed = useRef(false);
  if (!open) typed.current = false;
  return {
    onOpenChange: (next, details) => {
      if (details.reason === 'outside-press' && typed.current) details.cancel();
      else onOpenChange(next);
    },
    onInput: () => {
      typed.current = true;
    },
  };
}
