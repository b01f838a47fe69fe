// A notice while the browser is offline, and a call when it is back online.
import { useEffect, useRef, useSyncExternalStore } from 'react';
import { Banner } from '../ui/banner.tsx';

export function OfflineNotice({ onBack }: { readonly onBack: () => void }) {
  const online = useOnline();
  useCallWhenBack(online, onBack);
  if (online) return null;
  return (
    <Banner tone="warn" title="You are offline." className="mb-6">
      This page may be out of date. It updates once you are back online.
    </Banner>
  );
}

function useCallWhenBack(online: boolean, onBack: () => void): void {
  const before = useRef(online);
  useEffect(() => {
    if (online && !before.current) onBack();
    before.current = online;
  }, [online, onBack]);
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
