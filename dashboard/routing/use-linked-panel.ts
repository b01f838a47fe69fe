// A panel that a link opens by a search parameter. The page's own button leaves the address, and so the history, alone.
import { useState } from 'react';
import { useSearchParams } from 'react-router';

export function useLinkedPanel(param: string): { readonly isOpen: boolean; readonly setOpen: (open: boolean) => void } {
  const [search, setSearch] = useSearchParams();
  const [isOpen, setOpen] = useState(false);
  const isLinked = search.has(param);
  const change = (open: boolean) => {
    setOpen(open);
    if (open || !isLinked) return;
    const next = new URLSearchParams(search);
    next.delete(param);
    setSearch(next, { replace: true, preventScrollReset: true });
  };
  return { isOpen: isOpen || isLinked, setOpen: change };
}
