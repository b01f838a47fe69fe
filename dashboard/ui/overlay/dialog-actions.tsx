// The row of buttons at the bottom of a dialog.
import type { ReactNode } from 'react';

/** Put it inside the form that its button submits. */
export function DialogActions({ children }: { readonly children: ReactNode }) {
  return <div className="flex flex-wrap justify-end gap-2 rounded-b-lg border-t bg-sunken/60 px-5 py-3 sm:px-6">{children}</div>;
}
