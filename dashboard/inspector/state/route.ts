// Which request the page shows. It is in the fragment, so that the browser's back button works: the client serves one page only.
import { useSyncExternalStore } from 'react';

export interface Route {
  /** The request that is open. */
  readonly id: number;
  /** Compares it with another one; null asks which. */
  readonly compareWith?: number | null;
}

const pattern = /^#\/(\d{1,15})(?:\/compare(?:\/(\d{1,15}))?)?$/;

export function parseRoute(hash: string): Route | undefined {
  const match = pattern.exec(hash);
  if (match === null) return undefined;
  const id = Number(match[1]);
  if (!hash.includes('/compare')) return { id };
  return { id, compareWith: match[2] === undefined ? null : Number(match[2]) };
}

export function renderRoute(route: Route | undefined): string {
  if (route === undefined) return '#/';
  if (route.compareWith === undefined) return `#/${route.id}`;
  return `#/${route.id}/compare${route.compareWith === null ? '' : `/${route.compareWith}`}`;
}

/** `replace`: the back button skips the page that is shown now. */
export function goTo(route: Route | undefined, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (replace) location.replace(renderRoute(route));
  else location.hash = renderRoute(route);
}

export function useRoute(): Route | undefined {
  const hash = useSyncExternalStore(subscribe, () => location.hash);
  return parseRoute(hash);
}

function subscribe(listener: () => void): () => void {
  addEventListener('hashchange', listener);
  return () => removeEventListener('hashchange', listener);
}
