// Which request the page shows. It is in the fragment, so that the browser's back button works: the client serves one page only.
import { useSyncExternalStore } from 'react';
import { unsaved } from '../../unsaved/use-unsaved.ts';

export interface Route {
  /** The request that is open. */
  readonly id: number;
  /** Compares it with another one; null asks which. */
  readonly compareWith?: number | null;
}

const pattern = /^#\/(\d{1,15})(?:\/compare(?:\/(\d{1,15}))?)?$/;

function parseRoute(hash: string): Route | undefined {
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

/** What the page shows; the address, once it is known. */
let shown: string | undefined;
/** Where the page itself goes: that asks nothing. */
let expected: string | undefined;

/** `replace`: the back button skips the page that is shown now. */
export function goTo(route: Route | undefined, { replace = false }: { readonly replace?: boolean } = {}): void {
  expected = renderRoute(route);
  if (replace) location.replace(expected);
  else location.hash = expected;
}

export const useRoute = (): Route | undefined => parseRoute(useSyncExternalStore(subscribe, readShown));

function readShown(): string {
  shown ??= location.hash;
  return shown;
}

function subscribe(listener: () => void): () => void {
  const onChange = () => {
    if (location.hash !== readShown() && location.hash !== expected && unsaved.isCovered()) return closeTop();
    shown = location.hash;
    listener();
  };
  addEventListener('hashchange', onChange);
  return () => removeEventListener('hashchange', onChange);
}

/** Back closes the form over the page first, after a question if something is typed. The address stays that of the page. */
function closeTop(): void {
  history.pushState(null, '', `${location.pathname}${location.search}${readShown()}`);
  unsaved.closeTop();
}
