// The frame of a dialog in front of the page (dialog.tsx). It traps the focus, and returns it on closing.
import { Dialog as Base } from '@base-ui/react/dialog';
import clsx from 'clsx';
import type { ReactNode, RefObject } from 'react';
import { LayerContext } from '../../unsaved/use-unsaved.ts';
import { DialogActions } from './dialog-actions.tsx';
import { OverlayContainer } from './overlay-container.tsx';
import { useOverlayLayer } from './use-overlay-layer.ts';

export interface DialogProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly title: string;
  readonly description?: ReactNode;
  /** The row of buttons, the main action last. */
  readonly actions?: ReactNode;
  /** The content is a form, with its own padding, footer and LeaveQuestion (form/overlay-form.tsx). */
  readonly flush?: boolean;
  readonly initialFocus?: RefObject<HTMLElement | null>;
  /** True if the content shows only once: a click beside it must not lose it. */
  readonly once?: boolean;
  readonly children?: ReactNode;
  readonly className?: string;
}

export const backdropClass =
  'fixed inset-0 z-40 bg-veil transition-opacity duration-200 data-ending-style:opacity-0 data-starting-style:opacity-0';

export function DialogFrame({
  open,
  onOpenChange,
  title,
  description,
  actions,
  initialFocus,
  flush = false,
  once = false,
  children,
  className,
}: DialogProps) {
  const { layer, ...changes } = useOverlayLayer(open, onOpenChange, flush);
  return (
    <Base.Root open={open} {...changes} disablePointerDismissal={once}>
      <Base.Portal>
        {/* Also in front of another dialog or a panel. */}
        <Base.Backdrop forceRender className={backdropClass} />
        <Base.Viewport className="fixed inset-0 z-40 grid items-center justify-items-center overflow-y-auto p-4">
          <Base.Popup
            {...(initialFocus === undefined ? {} : { initialFocus })}
            className={clsx(
              'w-full max-w-lg rounded-lg border bg-raised shadow-overlay outline-none transition duration-200 ease-out',
              'data-ending-style:translate-y-2 data-ending-style:opacity-0 data-starting-style:translate-y-2 data-starting-style:opacity-0',
              className,
            )}
          >
            <OverlayContainer>
              <div className="grid gap-4 p-5 sm:p-6">
                <div className="grid min-w-0 gap-1.5 wrap-anywhere">
                  <Base.Title className="text-xl font-bold">{title}</Base.Title>
                  {description && <Base.Description className="text-base text-ink-soft">{description}</Base.Description>}
                </div>
                {!flush && children}
              </div>
              {flush && <LayerContext value={layer}>{children}</LayerContext>}
              {actions && <DialogActions>{actions}</DialogActions>}
            </OverlayContainer>
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  );
}
