// The lines that two texts share and the ones that only one has: the longest common subsequence, within a bound on the work.

import type { DiffLine } from '@underpass/rules/inspect/exchange.ts';

/** Cells for the middle part, after the common start and end: 16 MB. Larger parts show as wholly different. */
const maxCells = 4_000_000;

export function diffLines(left: readonly string[], right: readonly string[]): DiffLine[] {
  const shortest = Math.min(left.length, right.length);
  let start = 0;
  while (start < shortest && left[start] === right[start]) start++;
  let end = 0;
  while (end < shortest - start && left.at(-1 - end) === right.at(-1 - end)) end++;
  const middle = diffMiddle(left.slice(start, left.length - end), right.slice(start, right.length - end));
  return [...both(left.slice(0, start)), ...middle, ...both(left.slice(left.length - end))];
}

const both = (lines: readonly string[]): DiffLine[] => lines.map((text) => ({ side: 'both', text }));

function diffMiddle(left: readonly string[], right: readonly string[]): DiffLine[] {
  const isTooLarge = (left.length + 1) * (right.length + 1) > maxCells;
  if (isTooLarge) return [...left.map((text) => lineOf('left', text)), ...right.map((text) => lineOf('right', text))];
  return walk(left, right, lengthsOf(left, right));
}

const lineOf = (side: DiffLine['side'], text: string): DiffLine => ({ side, text });

/** The length of the longest common subsequence after each pair of positions. */
function lengthsOf(left: readonly string[], right: readonly string[]): Uint32Array {
  const width = right.length + 1;
  const lengths = new Uint32Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      const at = i * width + j;
      lengths[at] = left[i] === right[j] ? lengths[at + width + 1]! + 1 : Math.max(lengths[at + width]!, lengths[at + 1]!);
    }
  }
  return lengths;
}

function walk(left: readonly string[], right: readonly string[], lengths: Uint32Array): DiffLine[] {
  const width = right.length + 1;
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      lines.push(lineOf('both', left[i++]!));
      j++;
    } else if (j === right.length || (i < left.length && lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)) {
      lines.push(lineOf('left', left[i++]!));
    } else lines.push(lineOf('right', right[j++]!));
  }
  return lines;
}
