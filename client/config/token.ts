// Reads a token from a file, standard input or the environment; never from the command line, which `ps` shows to everyone.
import { readFile, realpath, stat } from 'node:fs/promises';
import { quoteShellWord } from '@underpass/rules/connect/shell-word.ts';
import { gather, readBounded } from '../process/bounded-file.ts';
import { ClientError, fileReason } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import type { Output } from '../terminal/output.ts';
import { isOpenToOthers } from './token-file-mode.ts';

/** Longer than any token that the product issues. */
const maxTokenLength = 4096;
/** Plus a line ending. */
const maxTokenFileBytes = maxTokenLength + 2;

/** `source` is a path or '-' for standard input; without it, UNDERPASS_TOKEN. */
export async function readToken(io: Io, source: string | undefined, output: Output): Promise<string> {
  if (source === '-')
    return parseToken(io.stdin.isTTY ? await io.askSecret('Token (not shown): ') : await readAll(io), 'standard input');
  if (source !== undefined) return readTokenFile(source, output);
  const text = io.env.UNDERPASS_TOKEN;
  if (!text) throw new ClientError('token-missing', '');
  return parseToken(text, 'UNDERPASS_TOKEN');
}

export async function readTokenFile(path: string, output: Output): Promise<string> {
  try {
    const text = await readBounded(path, maxTokenFileBytes);
    if (process.platform !== 'win32' && (await othersMayRead(path))) {
      output.warning(`other users of this machine may read ${path}: run "chmod 600 ${quoteShellWord(path)}"`);
    }
    return parseToken(text, path);
  } catch (cause) {
    if (cause instanceof ClientError) throw cause;
    throw new ClientError('token-file-unreadable', `${path} (${fileReason(cause)})`, { cause });
  }
}

async function othersMayRead(path: string): Promise<boolean> {
  // Kubernetes mounts the file of a Secret as a link into the folder of its version.
  const real = await realpath(path);
  const { mode, uid, gid } = await stat(real);
  const gids = [process.getegid?.() ?? -1, ...(process.getgroups?.() ?? [])];
  const mounts = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  return isOpenToOthers({ path: real, mode, uid, gid }, { uid: process.geteuid?.() ?? -1, gids, mounts });
}

/** Printable ASCII without spaces: it travels in a header. */
export function parseToken(text: string, source: string, fix?: string): string {
  const token = text.trim();
  const options = fix === undefined ? {} : { fix };
  if (token === '') throw new ClientError('token-missing', `${source} is empty`, options);
  if (!/^[\x21-\x7e]+$/.test(token) || token.length > maxTokenLength) throw new ClientError('token-malformed', source, options);
  return token;
}

async function readAll({ stdin }: Io): Promise<string> {
  const bytes = await gather(stdin, maxTokenFileBytes);
  if (bytes === null) throw new ClientError('token-malformed', 'standard input');
  return bytes.toString('utf8');
}
