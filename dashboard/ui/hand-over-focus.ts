// What to do with the focus when a part of the page that has it is replaced: a placeholder by its data, an error panel by the page.
import { useLayoutEffect } from 'react';

/** Gives the focus to the page's heading, not the body, if this component disappears with the focus inside (WCAG 2.4.3). */
export function useHandOverFocus(): void {
  // The cleanup of a layout effect runs while the old part is still in the document, the microtask when the new one is.
  useLayoutEffect(
    () => () => {
      const focused = document.activeElement;
      queueMicrotask(() => focused?.isConnected === false && focusHeading());
    },
    [],
  );
}

/** Leaves a page alone that has moved the focus by itself. */
export function focusHeading(): void {
  if (document.activeElement === document.body) document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
}
