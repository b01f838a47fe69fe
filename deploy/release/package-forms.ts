// How the command line is packed for each package manager: one row of a table for each, with files made from the programs of
// a release. They are for publishing; no server offers them.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeAptRepository } from './apt-repository.ts';
import { makeNpmPackage } from './npm-package.ts';
import { renderFlake, renderFormula, renderScoopManifest } from './package-texts.ts';
import type { PackedRelease } from './packed-release.ts';
import { sha256Of } from './sign.ts';

interface PackageForm {
  /** The command that updates this form. The program prints it, because it must not replace a file that a package manager owns. */
  readonly update: string;
  /** Makes the files in a folder of its own. */
  readonly make: (release: PackedRelease, folder: string, update: string) => void;
}

const textForm = (update: string, file: string, render: (release: PackedRelease, update: string) => string): PackageForm => ({
  update,
  make: (release, folder) => writeFileSync(join(folder, file), render(release, update)),
});

/** Forms other than npm, whose package comes first. */
const forms: Readonly<Record<string, PackageForm>> = {
  homebrew: textForm('brew upgrade underpass', 'underpass.rb', renderFormula),
  apt: { update: 'sudo apt-get install --only-upgrade underpass', make: makeAptRepository },
  scoop: textForm('scoop update underpass', 'underpass.json', renderScoopManifest),
  nix: textForm('nix profile upgrade underpass', 'flake.nix', renderFlake),
};

const npmUpdate = 'npm install --global underpass@latest';

/** Writes every form into a folder of its own below `folder`/packages. */
export function packRelease(release: Omit<PackedRelease, 'npm'>, root: string, compiler: string): void {
  const packages = join(release.folder, 'packages');
  const npm = makeNpmPackage({ root, compiler, version: release.version, update: npmUpdate, folder: folderFor(packages, 'npm') });
  const packed = { ...release, npm: { ...npm, sha256: sha256Of(npm.path) } };
  for (const [name, { make, update }] of Object.entries(forms)) make(packed, folderFor(packages, name), update);
}

function folderFor(packages: string, name: string): string {
  const folder = join(packages, name);
  mkdirSync(folder, { recursive: true });
  return folder;
}
