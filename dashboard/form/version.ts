// What the form of one version does about a newer one. Pure.

interface Version {
  readonly updatedAt: string;
}

/** The newest of the version that the form edits and the one that the page has loaded: a page may load an older one last. */
export const newestOf = <Saved extends Version>(loaded: Saved, base: Saved): Saved =>
  loaded.updatedAt > base.updatedAt ? loaded : base;

/** A form without changes takes a newer version by itself; one with changes says that it is outdated. */
export function decideVersion<Saved extends Version>(newest: Saved, base: Saved, changed: boolean): 'same' | 'take' | 'outdated' {
  if (newest === base) return 'same';
  return changed ? 'outdated' : 'take';
}
