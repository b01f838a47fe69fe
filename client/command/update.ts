// update: replaces this program by the newest that the server offers, after checking signature and checksum.
import { chmod, realpath, rename, rm, writeFile } from 'node:fs/promises';
import type { Release } from '@underpass/rules/resource.ts';
import type { Command } from 'commander';
import { serverOf } from '../account/account.ts';
import { ClientError, fileReason } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import { builtFor, releaseKey, version } from '../process/version.ts';
import { type CommonFlags, describe, outputOf, type Shell, withServer } from './command-line.ts';
import { compareVersions, downloadProgram, listReleases, newestRelease } from './release.ts';

interface UpdateFlags extends CommonFlags {
  readonly check?: boolean;
  readonly to?: string;
}

export function addUpdateCommand(program: Command, shell: Shell): void {
  withServer(
    describe(program.command('update'), 'Replace this program by the newest release, checked by signature and SHA-256.', [
      'underpass update --check',
      'underpass update',
    ]),
  )
    .option('--check', 'only say whether there is a newer one')
    .option('--to <version>', 'this version, older ones too')
    .action((flags: UpdateFlags) => update(shell, flags));
}

async function update(shell: Shell, flags: UpdateFlags): Promise<void> {
  const { io } = shell;
  const output = outputOf(shell, flags);
  const origin = await serverOf(io, flags);
  const release = await chooseRelease(io, origin, flags.to);
  const newer = flags.to === undefined ? compareVersions(release.version, version) > 0 : release.version !== version;
  const report = { version, newest: release.version, updated: newer && !flags.check };
  if (!newer) return output.result(report, `underpass ${version} is the newest.`);
  if (flags.check)
    return output.result(report, `underpass ${release.version} is there; this is ${version}. Run "underpass update".`);
  await replaceBy(io, origin, release);
  output.result(report, `Updated ${version} to ${release.version}. Running services take it at their next start.`);
}

async function chooseRelease(io: Io, origin: string, wanted: string | undefined): Promise<Release> {
  const found =
    wanted === undefined
      ? await newestRelease(io, origin)
      : (await listReleases(io, origin)).find((item) => item.version === wanted);
  if (found !== undefined) return found;
  if (wanted !== undefined) throw new ClientError('release-missing', wanted);
  const fix = 'Ask the operator of the server for releases, or build from source.';
  throw new ClientError('release-missing', `${origin} offers none`, { fix });
}

async function replaceBy(io: Io, origin: string, release: Release): Promise<void> {
  if (builtFor === undefined || releaseKey === undefined) throw new ClientError('update-unsupported', 'it runs from source');
  const file = release.files.find(({ platform }) => platform === builtFor);
  // The name has to say the version, or an old file could be passed off as a new one: names are signed, the manifest is not.
  if (!file?.name.startsWith(`underpass-${release.version}-${builtFor}`)) throw new ClientError('release-missing', builtFor);
  const program = await downloadProgram(io, origin, file.name, release.version, releaseKey);
  await replaceFile(await realpath(io.self[0] ?? ''), program, io.platform === 'win32');
}

/** In one step: whoever starts the program meanwhile gets the old or the new one whole. */
async function replaceFile(path: string, program: Buffer, isWindows: boolean): Promise<void> {
  const draft = `${path}.new`;
  try {
    await writeFile(draft, program, { mode: 0o755 });
    await chmod(draft, 0o755);
    // A running program cannot be written over on Windows, but renamed it can be.
    if (isWindows) await rm(`${path}.old`, { force: true }).then(() => rename(path, `${path}.old`));
    await rename(draft, path);
  } catch (cause) {
    await rm(draft, { force: true }).catch(() => {});
    throw new ClientError('file-not-written', `${path} (${fileReason(cause)})`, { cause });
  }
}
