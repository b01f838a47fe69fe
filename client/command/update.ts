// update: replaces this program with the newest release of the server, after checking signature and checksum.
import { chmod, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Release } from '@underpass/rules/entity/resource.ts';
import { compareVersions } from '@underpass/rules/text/version.ts';
import type { Command } from 'commander';
import { openServer } from '../account/account.ts';
import { readBounded } from '../process/bounded-file.ts';
import { ClientError, fileReason } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import { builtFor, releaseKey, version } from '../process/version.ts';
import { type CommonFlags, describe, outputOf, type Shell, withServer } from './command-line.ts';
import { downloadProgram, listReleases, newestRelease } from './release.ts';

interface UpdateFlags extends CommonFlags {
  readonly check?: boolean;
  readonly to?: string;
}

export function addUpdateCommand(program: Command, shell: Shell): void {
  withServer(
    describe(program.command('update'), 'Replace this program with the newest release, checked by signature and SHA-256.', [
      'underpass update --check',
      'underpass update',
    ]),
  )
    .option('--check', 'only say whether there is a newer release')
    .option('--to <version>', 'install this version, even an older one')
    .action((flags: UpdateFlags) => update(shell, flags));
}

async function update(shell: Shell, flags: UpdateFlags): Promise<void> {
  const { io } = shell;
  const output = outputOf(shell, flags);
  const { origin } = await openServer(io, flags);
  const release = await chooseRelease(io, origin, flags.to);
  const newer = flags.to === undefined ? compareVersions(release.version, version) > 0 : release.version !== version;
  const report = { version, newest: release.version, updated: newer && !flags.check };
  const same = flags.to === undefined ? `underpass ${version} is the newest.` : `This is underpass ${version} already.`;
  if (!newer) return output.result(report, same);
  if (flags.check)
    return output.result(report, `underpass ${release.version} is available; this is ${version}. Run "underpass update".`);
  await installRelease(io, origin, release);
  output.result(report, `Updated ${version} to ${release.version}. Running services use it after their next start.`);
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

async function installRelease(io: Io, origin: string, release: Release): Promise<void> {
  const manager = await packageManagerOf(io);
  if (manager !== undefined)
    throw new ClientError('update-unsupported', 'a package manager installed it', { fix: `Run "${manager}".` });
  if (builtFor === undefined || releaseKey === undefined) throw new ClientError('update-unsupported', 'it runs from source');
  const file = release.files.find(({ platform }) => platform === builtFor);
  // Names are signed, the manifest is not: a name without the version would let an old file pass for a new one.
  if (!file?.name.startsWith(`underpass-${release.version}-${builtFor}`)) throw new ClientError('release-missing', builtFor);
  const program = await downloadProgram(io, origin, file.name, release.version, releaseKey);
  await replaceFile(await realpath(io.self[0] ?? ''), program, io.platform === 'win32');
}

/** A few words. */
const maxManagedByBytes = 200;

/** The command that updates a packaged program. The packages put it into a file beside the program. */
async function packageManagerOf(io: Io): Promise<string | undefined> {
  const program = await realpath(io.self.at(-1) ?? '').catch(() => '');
  const text = await readBounded(join(dirname(program), 'managed-by'), maxManagedByBytes).catch(() => undefined);
  return text?.trim();
}

/** Renames in one step: a program that starts during the update is the whole old file or the whole new one. */
async function replaceFile(path: string, program: Buffer, isWindows: boolean): Promise<void> {
  const draft = `${path}.new`;
  try {
    await writeFile(draft, program, { mode: 0o755 });
    await chmod(draft, 0o755);
    // Windows lets a running program be renamed, but not overwritten.
    if (isWindows) await rm(`${path}.old`, { force: true }).then(() => rename(path, `${path}.old`));
    await rename(draft, path);
  } catch (cause) {
    await rm(draft, { force: true }).catch(() => {});
    throw new ClientError('file-not-written', `${path} (${fileReason(cause)})`, { cause });
  }
}
