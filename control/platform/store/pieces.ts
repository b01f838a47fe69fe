/** Cuts a long list into pieces. A query takes a limited number of values, and the embedded database blocks the process while it runs. */
export function* piecesOf<Item>(items: readonly Item[], size: number): Generator<readonly Item[], void> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}
