// A Debian package for each Linux program, and the files of an apt repository around them. Signing is a step of its own,
// because the key of an apt repository is an OpenPGP key: deploy/README.md.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { projectUrl } from '../../rules/text/project-url.ts';
import { managedBy, summary } from './package-texts.ts';
import type { PackedRelease, Program } from './packed-release.ts';
import { sha256Of } from './sign.ts';

const architectures: Readonly<Record<string, string>> = { 'linux-x64': 'amd64', 'linux-arm64': 'arm64' };
const suite = 'stable';
const component = 'main';

export function makeAptRepository(release: PackedRelease, folder: string, update: string): void {
  const lists = release.programs.flatMap((program) => {
    const architecture = architectures[program.platform];
    if (architecture === undefined) return [];
    const name = `${component}/binary-${architecture}/Packages`;
    const text = Buffer.from(makePackage(release, program, architecture, folder, update));
    return [
      { name, bytes: text },
      { name: `${name}.gz`, bytes: gzipSync(text) },
    ];
  });
  if (lists.length === 0) return;
  const dist = join(folder, 'dists', suite);
  for (const { name, bytes } of lists) writeInto(join(dist, name), bytes);
  writeInto(join(dist, 'Release'), renderRelease(lists));
}

/** Returns its paragraph of the list of packages. */
function makePackage(release: PackedRelease, program: Program, architecture: string, folder: string, update: string): string {
  const path = `pool/${component}/u/underpass/underpass_${release.version}_${architecture}.deb`;
  const control = controlOf(release.version, architecture, statSync(join(release.folder, program.name)).size);
  const stage = mkdtempSync(join(tmpdir(), 'underpass-deb-'));
  try {
    chmodSync(stage, 0o755);
    const home = join(stage, 'usr/lib/underpass');
    writeInto(join(home, managedBy), `${update}\n`);
    copyFileSync(join(release.folder, program.name), join(home, 'underpass'));
    chmodSync(join(home, 'underpass'), 0o755);
    mkdirSync(join(stage, 'usr/bin'));
    symlinkSync('../lib/underpass/underpass', join(stage, 'usr/bin/underpass'));
    writeInto(join(stage, 'usr/share/doc/underpass/copyright'), copyright);
    writeInto(join(stage, 'DEBIAN/control'), control);
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    // xz takes half a minute for a tenth less.
    execFileSync('dpkg-deb', ['--build', '--root-owner-group', '-Zgzip', stage, join(folder, path)], {
      env: { ...process.env, SOURCE_DATE_EPOCH: '0' },
      stdio: ['ignore', 'ignore', 'inherit'],
      timeout: 120_000,
    });
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
  return `${control}Filename: ${path}\nSize: ${statSync(join(folder, path)).size}\nSHA256: ${sha256Of(join(folder, path))}\n\n`;
}

/** deb-control(5). A hyphen would begin a revision, and a tilde sorts a pre-release before its release. */
function controlOf(version: string, architecture: string, bytes: number): string {
  return `Package: underpass
Version: ${version.replace('-', '~')}
Architecture: ${architecture}
Maintainer: Underpass <${projectUrl}>
Installed-Size: ${Math.ceil(bytes / 1024)}
Depends: libc6
Recommends: ca-certificates
Section: net
Priority: optional
Homepage: ${projectUrl}
Description: ${summary}
 The underpass command carries visitors from a self-hosted tunnel service to
 services on this machine or in its network, without an open port.
`;
}

const copyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Source: ${projectUrl}

Files: *
License: Expat
`;

/** apt needs no Date, but with one a signed copy says when it was made. */
function renderRelease(lists: readonly { readonly name: string; readonly bytes: Buffer }[]): string {
  const names = lists.map(({ name }) => /binary-(\w+)/.exec(name)?.[1] ?? '');
  const lines = lists.map(({ name, bytes }) => ` ${createHash('sha256').update(bytes).digest('hex')} ${bytes.length} ${name}`);
  return `Origin: Underpass
Label: Underpass
Suite: ${suite}
Codename: ${suite}
Date: ${new Date().toUTCString()}
Architectures: ${[...new Set(names)].join(' ')}
Components: ${component}
Description: ${summary}
SHA256:
${lines.join('\n')}
`;
}

function writeInto(path: string, content: string | Buffer): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}
