// Shows the first page once, with its data, instead of a placeholder first: the browser asks for the data while the scripts load
// (rules/api/first-call.ts), so they are usually there. Later pages show at once.

/** Reading an answer that has come takes less. Without an answer, the page shows its placeholder. */
const mostWaitMs = 150;

let isFirst = true;

/** Call it when the first page has shown. */
export function endFirstLoad(): void {
  isFirst = false;
}

/** Makes the loader of the first page wait a moment for what it promises. */
export const withFirstData =
  <Args, Data>(loader: (args: Args) => Data) =>
  async (args: Args): Promise<Awaited<Data>> => {
    const data = await loader(args);
    if (isFirst) await Promise.race([settled(data), new Promise((resolve) => setTimeout(resolve, mostWaitMs))]);
    return data;
  };

const settled = (data: unknown): Promise<unknown> =>
  Promise.allSettled(Object.values(data ?? {}).filter((value) => value instanceof Promise));
