// Which rows of a long list to render: those in view, and a few around them.

export interface Viewport {
  readonly scrollTop: number;
  readonly height: number;
}

/** Rows above and below the view: a fast scroll shows them before the next frame. */
const marginRows = 8;

/** First row, and the row after the last one. */
export function rowsInView({ scrollTop, height }: Viewport, rowHeight: number, count: number): readonly [number, number] {
  const first = Math.floor(scrollTop / rowHeight) - marginRows;
  const end = Math.ceil((scrollTop + height) / rowHeight) + marginRows;
  return [Math.min(Math.max(0, first), count), Math.min(count, Math.max(0, end))];
}

/** Where to scroll so that a row is in view entirely; the same place if it already is. */
export function scrollToRow({ scrollTop, height }: Viewport, rowHeight: number, row: number): number {
  const top = row * rowHeight;
  if (top < scrollTop) return top;
  return top + rowHeight > scrollTop + height ? top + rowHeight - height : scrollTop;
}
