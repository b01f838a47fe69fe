// The folder that holds what this process keeps, readable by its owner only; keys and names in small files.

import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { ServerError } from '../process/error.ts';

/** Node's recursive mkdir never ends if the parent exists but refuses new entries, as procfs and automounts do. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return;
    if (code !== 'ENOENT' || dirname(path) === path) throw error;
    await makeFolder(dirname(path));
    await mkdir(path, { mode: 0o700 });
  }
}

export async function openHome(path: string): Promise<string> {
  try {
    await makeFolder(path);
    await writeWhole(join(path, '.writable'), '');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ServerError(code === 'ENOSPC' ? 'no-room' : 'home-unusable', `${path} (${code})`, { cause: error });
  }
  return path;
}

/** Atomic: a crash in the middle leaves the old file. */
export async function writeWhole(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new ServerError('file-unusable', path, { cause: error });
  }
}

/** Reads the file, or creates it with this text. */
async function keep(path: string, make: () => string): Promise<string> {
  const kept = await readIfThere(path);
  if (kept !== undefined) return kept.trim();
  const made = make();
  await writeWhole(path, `${made}\n`);
  return made;
}

/** Unique in its region and stable across restarts. */
export function keepEdgeId(home: string): Promise<string> {
  const machine =
    hostname()
      .toLowerCase()
      .replace(/[^a-z0-9-]/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 40) || 'edge';
  return keep(join(home, 'edge-id'), () => `${machine}-${randomBytes(3).toString('hex')}`);
}

/** One key a line, newest first, base64 of 32 bytes. */
export const keyFile = (home: string): string => join(home, 'keys');

export const createKeyText = (): string => randomBytes(32).toString('base64');

const keysIn = (text: string): readonly Buffer[] =>
  text
    .split(/[\s,]+/)
    .filter((line) => line !== '')
    .map((line) => Buffer.from(line, 'base64'));

/** The keys that seal secrets: from the setting, or from the home folder, where the first start makes one. */
export async function openKeys(home: string, masterKey: string | undefined): Promise<readonly Buffer[]> {
  return parseKeys(masterKey ?? (await keep(keyFile(home), createKeyText)), keyFile(home));
}

export function parseKeys(text: string, place: string): readonly Buffer[] {
  const keys = keysIn(text);
  if (keys.length === 0 || keys.some((key) => key.length !== 32))
    throw new ServerError('file-unusable', `${place} must hold keys of 32 bytes in base64`);
  return keys;
}
