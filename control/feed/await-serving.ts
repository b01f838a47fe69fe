// Waits briefly until the edges serve tunnels that have just become complete, so that the answer after it, and the page that it
// opens, rarely show the moment in between (Progressing, on screen Unknown).

import type { FeedPort } from './port.ts';

/** Edges acknowledge within a fraction of this. A certificate from an outside authority may take longer. */
const patienceMs = 2_000;

/** Returns at once while no edge is connected. */
export async function awaitServing(
  feed: Pick<FeedPort, 'isServing' | 'edges' | 'onMoved'>,
  tunnelIds: readonly string[],
): Promise<void> {
  const isServing = (): boolean => tunnelIds.every((id) => feed.isServing(id));
  if (isServing() || !feed.edges().some(({ connected }) => connected)) return;
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      stop();
      resolve();
    };
    const timer = setTimeout(end, patienceMs);
    const stop = feed.onMoved(() => {
      if (isServing()) end();
    });
  });
}
