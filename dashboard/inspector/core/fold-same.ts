// A difference between two texts, with its long runs of equal lines folded.
import type { DiffLine } from '@underpass/rules/inspect/exchange.ts';

export type DiffPart = DiffLine | { readonly side: 'folded'; readonly count: number };

/** Lines of context around a change. */
const context = 3;

export function foldSame(lines: readonly DiffLine[]): readonly DiffPart[] {
  const near = new Uint8Array(lines.length);
  lines.forEach((line, at) => {
    if (line.side !== 'both') near.fill(1, Math.max(0, at - context), at + context + 1);
  });
  const parts: DiffPart[] = [];
  lines.forEach((line, at) => {
    const last = parts.at(-1);
    if (near[at]) parts.push(line);
    else if (last?.side === 'folded') parts[parts.length - 1] = { side: 'folded', count: last.count + 1 };
    else parts.push({ side: 'folded', count: 1 });
  });
  return parts;
}
