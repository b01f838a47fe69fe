// Says that the network is away, for as long as it is.
import { useSyncExternalStore } from 'react';
import { Banner } from '../ui/banner.tsx';

export function OfflineNotice() {
  if (useOnline()) return null;
  return (
    <Banner tone="warn" title="You are offline." className="mb-6">
      What you see may be out of date. It updates when the connection is back.
    </Banner>
  );
}

function useOnline(): boolean {
  return useSyncExternalStore(subscribe, () => navigator.onLine);
}

function subscribe(listener: () => void): () => void {
  addEventListener('online', listener);
  addEventListener('offline', listener);
  return () => {
    removeEventListener('online', listener);
    removeEventListener('offline', listener);
  };
}
