// The frame of a side panel (side-panel.tsx). It traps the focus, and asks before it discards typed text.
import { Dialog as Base } from '@base-ui/react/dialog';
import { X } from 'lucide-react';
import type { ReactNode } from 'react';
import { LayerContext } from '../../unsaved/use-unsaved.ts';
import { IconButton } from '../button.tsx';
import { backdropClass } from './dialog-frame.tsx';
import { LeaveQuestion } from './leave-question.tsx';
import { OverlayContainer } from './overlay-container.tsx';
import { useOverlayLayer } from './use-overlay-layer.ts';

interface SidePanelProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly title: string;
  readonly description?: ReactNode;
  readonly children: ReactNode;
}

export function SidePanelFrame({ open, onOpenChange, title, description, children }: SidePanelProps) {
  const { layer, ...changes } = useOverlayLayer(open, onOpenChange, true);
  return (
    <Base.Root open={open} {...changes}>
      <Base.Portal>
        <Base.Backdrop className={backdropClass} />
        <Base.Viewport className="fixed inset-0 z-40 flex justify-end overflow-clip">
          <Base.Popup className="flex h-dvh w-full max-w-xl flex-col border-l bg-raised shadow-overlay outline-none transition-transform duration-300 ease-out data-ending-style:translate-x-full data-starting-style:translate-x-full">
            <OverlayContainer>
              <div className="relative flex items-start gap-4 border-b px-5 py-4 sm:px-6">
                <div className="min-w-0 flex-1 wrap-anywhere">
                  <Base.Title className="text-xl font-bold">{title}</Base.Title>
                  {description && <Base.Description className="mt-1 text-sm text-ink-soft">{description}</Base.Description>}
                </div>
                <Base.Close render={<IconButton label="Close panel" icon={<X aria-hidden="true" />} />} />
              </div>
              <LayerContext value={layer}>{children}</LayerContext>
            </OverlayContainer>
            <LeaveQuestion layer={layer} />
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  );
}
