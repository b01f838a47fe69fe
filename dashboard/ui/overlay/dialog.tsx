// A dialog in front of the page. Its frame loads once the page has shown, or when the first dialog opens.
import { lazyOverlay } from '../lazy-part.tsx';

export const Dialog = lazyOverlay('The dialog', () => import('./dialog-frame.tsx').then(({ DialogFrame }) => DialogFrame));
