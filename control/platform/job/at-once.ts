/** Works on every item, at most `most` at a time: one that takes long holds up none that follows. Begins no more after a failure. */
export async function forEachAtOnce<Item>(
  items: readonly Item[],
  most: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const worker = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  const stop = (error: unknown): never => {
    waiting.length = 0;
    throw error;
  };
  await Promise.all(Array.from({ length: most }, () => worker().catch(stop)));
}
