// The registry of this document, and how components take part in it.
import { createContext, use, useEffect, useEffectEvent, useLayoutEffect, useState, useSyncExternalStore } from 'react';
import { createUnsavedWork, type Layer, type LeavingQuestion, type Loss } from './unsaved-work.ts';

export const unsaved = createUnsavedWork();

/** The layer that a form is in. */
export const LayerContext = createContext<Layer>(unsaved.page);

/** Reports what leaving this form would lose. */
export function useUnsaved(loss: Loss | undefined): void {
  const layer = use(LayerContext);
  const [form] = useState(() => ({}));
  useLayoutEffect(() => unsaved.report(layer, form, loss), [layer, form, loss]);
  useLayoutEffect(() => () => unsaved.report(layer, form, undefined), [layer, form]);
}

/** Asks before something discards the work of the layer around it. */
export function useLeave(): (proceed: () => void) => void {
  const layer = use(LayerContext);
  return (proceed) => unsaved.leave(layer, proceed);
}

/** Makes an overlay a layer while it is open. */
export function useLayer(open: boolean, close: () => void, asks: boolean): Layer {
  const [layer] = useState<Layer>(() => ({ asks }));
  const closeNow = useEffectEvent(close);
  useLayoutEffect(() => (open ? unsaved.open(layer, () => closeNow()) : undefined), [open, layer]);
  return layer;
}

export const useQuestion = (): LeavingQuestion | undefined => useSyncExternalStore(unsaved.subscribe, unsaved.question);

/** True while leaving the page would lose something. */
export const useHasUnsaved = (): boolean => useSyncExternalStore(unsaved.subscribe, hasUnsaved, hasUnsaved);

const hasUnsaved = (): boolean => unsaved.loss(unsaved.page) !== undefined;

/** The browser then asks before its tab closes, loads the page again or goes to another site. */
export function useAskBeforeUnload(): void {
  const asks = useHasUnsaved();
  useEffect(() => {
    if (!asks) return;
    const ask = (event: BeforeUnloadEvent) => isPassing || event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [asks]);
}

let isPassing = false;

/** A navigation that follows a success or an answered question: it asks nothing. `go` must start it at once. */
export function letPass<Result>(go: () => Result): Result {
  isPassing = true;
  try {
    return go();
  } finally {
    isPassing = false;
  }
}

export const mayPass = (): boolean => isPassing;

/** Loads the document again, after a question. */
export function reloadDocument(): void {
  unsaved.leave(unsaved.page, () => {
    // The question was the last one: the browser asks nothing more.
    isPassing = true;
    location.reload();
  });
}
