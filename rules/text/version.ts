// The order of releases: by number, and a pre-release before its release (semver 11).

const pattern = /^(\d+)\.(\d+)\.(\d+)(?:-(.+))?$/;

/** Positive if `a` is the later one. A text that is no version comes before all. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [pattern.exec(a), pattern.exec(b)];
  if (left === null || right === null) return Number(left !== null) - Number(right !== null);
  for (const index of [1, 2, 3]) {
    const difference = Number(left[index]) - Number(right[index]);
    if (difference !== 0) return difference;
  }
  const [early, other] = [left[4], right[4]];
  if (early === undefined || other === undefined) return Number(early === undefined) - Number(other === undefined);
  return early.localeCompare(other, 'en', { numeric: true });
}
