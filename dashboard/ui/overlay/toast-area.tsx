// Where toasts appear. The list that shows them loads once the page has shown, or with the first message.
import { useSyncExternalStore } from 'react';
import { lazyOverlay } from '../lazy-part.tsx';
import { hasWaitingNotices, onNotice } from './toast.tsx';

const ToastList = lazyOverlay<{ readonly open: boolean }>('A message', () =>
  import('./toast-list.tsx').then(({ ToastList }) => ToastList),
);

/** Toasts appear where no dialog or panel has buttons. */
export const ToastArea = () => <ToastList open={useSyncExternalStore(onNotice, hasWaitingNotices)} />;
