// The layer of a panel or dialog, and how it closes: only the topmost one, and after a question if something typed would be lost.
import type { Dialog } from '@base-ui/react/dialog';
import type { Layer } from '../../unsaved/unsaved-work.ts';
import { unsaved, useLayer } from '../../unsaved/use-unsaved.ts';
import { focusHeading } from '../hand-over-focus.ts';

interface OverlayLayer {
  readonly layer: Layer;
  readonly onOpenChange: (open: boolean, details: Dialog.Root.ChangeEventDetails) => void;
  readonly onOpenChangeComplete: (open: boolean) => void;
}

/** `asks`: the overlay renders a LeaveQuestion. */
export function useOverlayLayer(open: boolean, onOpenChange: (open: boolean) => void, asks = false): OverlayLayer {
  const close = () => onOpenChange(false);
  const layer = useLayer(open, close, asks);
  return {
    layer,
    onOpenChange: (next, details) => {
      if (next) return onOpenChange(true);
      const isForIt = !isForPicker(details) && unsaved.claims(layer, details.event);
      const keeps = unsaved.loss(layer) !== undefined;
      if (!isForIt || keeps) details.cancel();
      // A click beside a panel may be a slip: it neither discards nor asks.
      if (isForIt && !(keeps && details.reason === 'outside-press')) unsaved.leave(layer, close);
    },
    // By the next frame the control that opened it has the focus again. If a link did, or the control is gone, nothing has it.
    onOpenChangeComplete: (isOpen) => {
      if (!isOpen) requestAnimationFrame(focusHeading);
    },
  };
}

/** Escape closes the open list of a select, which is the browser's own: this key is not for the overlay around it. */
function isForPicker({ reason, event }: Dialog.Root.ChangeEventDetails): boolean {
  if (reason !== 'escape-key' || !CSS.supports('selector(:open)')) return false;
  return event.target instanceof Element && event.target.closest('select:open') !== null;
}
