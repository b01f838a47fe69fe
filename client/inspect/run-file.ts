// The file by which `underpass inspect` and `underpass replay` find a running client: its port and token, for this user only.

import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { configFolder, writePrivateFile } from '../account/credentials.ts';
import type { Io } from '../process/io.ts';

export interface RunFile {
  readonly port: number;
  readonly token: string;
}

const folderOf = (io: Io): string => join(configFolder(io), 'inspect');

/** Named after the port, which is unique while the client runs; a file that a crash left is replaced. Returns its path. */
export async function writeRunFile(io: Io, file: RunFile): Promise<string> {
  const path = join(folderOf(io), `${file.port}.json`);
  await writePrivateFile(path, `${JSON.stringify(file)}\n`);
  return path;
}

export async function removeRunFile(path: string): Promise<void> {
  for (const each of [path, openPath(path)]) await rm(each, { force: true }).catch(() => {});
}

const openPath = (path: string): string => path.replace(/json$/, 'html');

/**
 * A page that leads to the link. A browser gets its address as an argument, which other users of this machine can read: so it
 * gets the address of this file, which they cannot.
 */
export async function writeOpenFile(io: Io, { port, link }: { readonly port: number; readonly link: string }): Promise<string> {
  const path = openPath(join(folderOf(io), `${port}.json`));
  await writePrivateFile(path, `<!doctype html><meta http-equiv="refresh" content="0;url=${link}"><title>Inspector</title>\n`);
  return pathToFileURL(path).href;
}

/** The files that can be read; the clients may have gone. */
export async function readRunFiles(io: Io): Promise<readonly RunFile[]> {
  const names = await readdir(folderOf(io)).catch(() => []);
  const files = await Promise.all(
    names.filter((name) => /^\d{1,5}\.json$/.test(name)).map((name) => readRunFile(join(folderOf(io), name))),
  );
  return files.flatMap((file) => file ?? []);
}

async function readRunFile(path: string): Promise<RunFile | null> {
  try {
    const { port, token } = JSON.parse(await readFile(path, 'utf8')) as Partial<RunFile>;
    const isValid = Number.isInteger(port) && port! > 0 && port! < 65_536 && /^[\w-]{1,100}$/.test(token ?? '');
    return isValid ? { port: port!, token: token! } : null;
  } catch {
    return null;
  }
}
