// Executes a service plan: files first, then commands. A second install changes nothing, and uninstall leaves nothing.
import { randomUUID } from 'node:crypto';
import { chmod, lstat, mkdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writePrivateFile } from '../account/credentials.ts';
import { ClientError, fileReason } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import type { ServiceCommand, ServiceFile, ServicePlan } from './plan.ts';

/** Returns false if the files were already right. The service is started or restarted in any case. */
export async function installService(io: Io, plan: ServicePlan, token: string): Promise<boolean> {
  const before = await Promise.all([readText(plan.tokenPath), readText(plan.definition.path, plan.definition.encoding)]);
  const changed = before[0] !== `${token}\n` || before[1] !== plan.definition.text;
  if (plan.close.length > 0) await closeFolder(io, dirname(plan.tokenPath), plan.close);
  if (changed) {
    await writePrivateFile(plan.tokenPath, `${token}\n`);
    await writeDefinition(plan.definition);
  }
  for (const log of plan.logs) await mkdir(dirname(log), { recursive: true });
  try {
    for (const command of plan.install) await perform(io, command);
  } catch (error) {
    // A first install that fails leaves no token behind.
    if (before.every((text) => text === undefined)) await uninstallService(io, plan).catch(() => {});
    throw error;
  }
  return changed;
}

/** Refuses a link, which would lead the commands to another folder. */
async function closeFolder(io: Io, folder: string, commands: readonly ServiceCommand[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  if (!(await lstat(folder)).isDirectory()) throw new ClientError('service-failed', `${folder} is a link; remove it first`);
  for (const command of commands) await perform(io, command);
}

/** Returns false if nothing was installed. */
export async function uninstallService(io: Io, plan: ServicePlan): Promise<boolean> {
  const found = (await readText(plan.definition.path, plan.definition.encoding)) !== undefined;
  const leftover = (await readText(plan.tokenPath)) !== undefined;
  if (!found && !leftover) return false;
  for (const command of plan.uninstall) await perform(io, command);
  for (const path of [plan.definition.path, plan.tokenPath, ...plan.logs]) await remove(path);
  for (const command of plan.forget) await perform(io, command);
  return true;
}

export async function serviceRuns(io: Io, plan: ServicePlan): Promise<'running' | 'stopped' | 'missing'> {
  if ((await readText(plan.definition.path, plan.definition.encoding)) === undefined) return 'missing';
  const [file, ...args] = plan.status.argv;
  const { code } = await io.execute(file, args);
  return code === 0 ? 'running' : 'stopped';
}

async function perform(io: Io, { argv, mayFail }: ServiceCommand): Promise<void> {
  const [file, ...args] = argv;
  const { code, stdout, stderr } = await io.execute(file, args);
  if (code === 0 || mayFail) return;
  throw new ClientError('service-failed', `${argv.join(' ')}: ${(stderr || stdout).trim() || `exit code ${code}`}`);
}

async function writeDefinition({ path, text, mode, encoding = 'utf8' }: ServiceFile): Promise<void> {
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(draft, text, { mode, encoding });
    await chmod(draft, mode);
    await rename(draft, path);
  } catch (cause) {
    await rm(draft, { force: true }).catch(() => {});
    throw new ClientError('file-not-written', `${path} (${fileReason(cause)})`, { cause });
  }
}

async function readText(path: string, encoding: 'utf8' | 'utf16le' = 'utf8'): Promise<string | undefined> {
  try {
    return await readFile(path, encoding);
  } catch (cause) {
    if (['ENOENT', 'ENOTDIR'].includes((cause as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw new ClientError('service-failed', `${path} (${fileReason(cause)})`, { cause });
  }
}

/** Removes the file, and our folder if it is empty. */
async function remove(path: string): Promise<void> {
  try {
    await rm(path, { force: true });
    if (/[\\/]underpass$/.test(dirname(path))) await rmdir(dirname(path)).catch(() => {});
  } catch (cause) {
    throw new ClientError('service-failed', `${path} (${fileReason(cause)})`, { cause });
  }
}
