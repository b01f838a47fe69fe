// A dialog in front of the page. Its frame loads once the page has shown, or when the first dialog opens.
import { lazyOverlay } from '../lazy-part.tsx';
import type { DialogProps } from './dialog-frame.tsx';

export const Dialog = lazyOverlay<DialogProps>('The dialog', () =>
  import('./dialog-frame.tsx').then(({ DialogFrame }) => DialogFrame),
);
