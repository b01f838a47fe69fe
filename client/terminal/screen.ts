// Repaints a block of lines in place: only if it changed, in one write, and correctly after a resize.
import type { TextOut } from '../process/io.ts';

export interface Screen {
  readonly show: (lines: readonly string[]) => void;
  /** Leaves the last block on the screen and shows the cursor again. */
  readonly close: () => void;
}

const hideCursor = '\x1b[?25l';
const showCursor = '\x1b[?25h';
const beginUpdate = '\x1b[?2026h';
const endUpdate = '\x1b[?2026l';
const eraseBelow = '\x1b[J';

export function createScreen(out: TextOut): Screen {
  let shown: readonly string[] = [];
  let open = false;
  return {
    show(lines) {
      if (open && same(lines, shown)) return;
      const up = rowsOf(shown, out.columns());
      const home = up === 0 ? '\r' : `\x1b[${up}F`;
      out.write(
        `${beginUpdate}${open ? '' : hideCursor}${home}${lines.map((line) => `${line}\x1b[K\n`).join('')}${eraseBelow}${endUpdate}`,
      );
      shown = lines;
      open = true;
    },
    close() {
      if (open) out.write(showCursor);
      open = false;
      shown = [];
    },
  };
}

/** A terminal that became narrower has wrapped the old lines: counts the rows that they take now. */
function rowsOf(lines: readonly string[], columns: number): number {
  return lines.reduce((rows, line) => rows + Math.max(1, Math.ceil(visibleLength(line) / Math.max(1, columns))), 0);
}

function visibleLength(line: string): number {
  return [...line.replace(/\x1b\[[0-9;]*m/g, '')].length;
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((line, index) => line === b[index]);
}
