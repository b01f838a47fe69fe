/** A long list, some of it at a time: a query takes only so many values, and the embedded database blocks the process meanwhile. */
export function* piecesOf<Item>(items: readonly Item[], size: number): Generator<readonly Item[], void> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}
