// Says that the network is away, for as long as it is, and refreshes the page when it is back.
import { useEffect, useRef, useSyncExternalStore } from 'react';
import { useRevalidator } from 'react-router';
import { Banner } from '../ui/banner.tsx';

export function OfflineNotice() {
  const online = useOnline();
  useRefreshWhenBack(online);
  if (online) return null;
  return (
    <Banner tone="warn" title="You are offline." className="mb-6">
      What you see may be out of date. It updates when the connection is back.
    </Banner>
  );
}

function useRefreshWhenBack(online: boolean): void {
  const { revalidate } = useRevalidator();
  const before = useRef(online);
  useEffect(() => {
    if (online && !before.current) revalidate();
    before.current = online;
  }, [online, revalidate]);
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
