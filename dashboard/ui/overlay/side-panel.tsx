// A panel beside the page for a form. The page stays visible. Its frame loads once the page has shown, or when the first panel opens.
import { type ReactNode, useEffect, useRef } from 'react';
import { lazyOverlay } from '../lazy-part.tsx';

export const SidePanel = lazyOverlay('The panel', () =>
  import('./side-panel-frame.tsx').then(({ SidePanelFrame }) => SidePanelFrame),
);

/** The scrolling middle of a panel. Its first control gets the focus on opening. */
export function PanelBody({ children }: { readonly children: ReactNode }) {
  const body = useRef<HTMLDivElement>(null);
  // One frame later: the frame around it first notes which control had the focus, and returns it there on closing.
  useEffect(() => {
    const focusing = requestAnimationFrame(() =>
      body.current?.querySelector<HTMLElement>('input, textarea, [role="combobox"]')?.focus(),
    );
    return () => cancelAnimationFrame(focusing);
  }, []);
  return (
    // Rows as tall as their content: in a scrolling panel, a row with a minimum height would shrink to it and overlap the next.
    <div
      ref={body}
      className="grid min-h-0 flex-1 auto-rows-max grid-cols-1 content-start gap-6 overflow-y-auto px-5 py-5 sm:px-6"
    >
      {children}
    </div>
  );
}

export function PanelActions({ children }: { readonly children: ReactNode }) {
  return <div className="flex flex-wrap justify-end gap-2 border-t bg-sunken/60 px-5 py-3 sm:px-6">{children}</div>;
}

/** A bar at the upper edge of a panel's form while it is being sent. */
export function ProgressBar() {
  return (
    <div role="progressbar" aria-label="Sending" className="absolute inset-x-0 -top-px h-0.5 animate-lanes text-accent lanes" />
  );
}
