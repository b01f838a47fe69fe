// What every package form is made from.

export interface Program {
  readonly name: string;
  readonly platform: string;
  readonly sha256: string;
}

export interface PackedRelease {
  readonly version: string;
  /** Where people download the programs, and packages that need a URL: the address of a folder. */
  readonly from: string;
  readonly programs: readonly Program[];
  /** The folder with the programs. */
  readonly folder: string;
  /** The npm package; other forms may be made of it. */
  readonly npm: { readonly path: string; readonly name: string; readonly sha256: string };
}
