// Code that a page needs only once somebody does something. It loads after the page has shown, so it is usually there by then.

type Load = () => Promise<unknown>;

/** undefined once the first page has shown: from then on, a load waits only for an idle browser. */
let waiting: Load[] | undefined = [];

export function loadLater(load: Load): void {
  if (waiting) waiting.push(load);
  else whenIdle(load);
}

/** Call it when the first page has shown. */
export function loadWaiting(): void {
  const loads = waiting ?? [];
  waiting = undefined;
  for (const load of loads) whenIdle(load);
}

/** A failure counts only when somebody needs the code, which then loads again. */
function whenIdle(load: Load): void {
  const start = () => void load().catch(() => {});
  // Safari has no idle callbacks.
  if ('requestIdleCallback' in globalThis) requestIdleCallback(start);
  else setTimeout(start);
}
