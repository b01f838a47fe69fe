// The keys of clients that carry private tunnels, as this machine met them first: a later one that differs is refused.

import { join } from 'node:path';
import { configFolder, writePrivateFile } from '../account/credentials.ts';
import { readBounded } from '../process/bounded-file.ts';
import { ClientError, fileReason } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import type { Output } from '../terminal/output.ts';

/** A key takes some 150 bytes. */
const maxBytes = 1024 * 1024;

const pathOf = (io: Io): string => join(configFolder(io), 'reach-keys.json');

async function readKeys(path: string): Promise<Readonly<Record<string, unknown>>> {
  const text = await readBounded(path, maxBytes).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return '{}';
    throw new ClientError('reach-keys-invalid', `${path} (${fileReason(cause)})`, { cause });
  });
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch (cause) {
    throw new ClientError('reach-keys-invalid', path, { cause });
  }
}

export interface KeyQuestion {
  /** What the key is remembered for. */
  readonly about: string;
  /** The only key that is right, if the ticket or the user says one. */
  readonly pin: string | undefined;
}

/** Resolves if the key is the right one, or the first; rejects with reach-untrusted. */
export async function checkKey(io: Io, output: Output, { about, pin }: KeyQuestion, met: string): Promise<void> {
  if (pin !== undefined) {
    if (pin !== met) throw new ClientError('reach-untrusted', `${about} presents ${met}, not ${pin}`);
    return;
  }
  const path = pathOf(io);
  const keys = await readKeys(path);
  const known = Object.hasOwn(keys, about) ? keys[about] : undefined;
  if (known === met) return;
  if (known !== undefined)
    throw new ClientError('reach-untrusted', `${about} presents ${met}, and had ${String(known)} before`, {
      fix: `Ask the person who carries the tunnel whether its key changed. If it did, remove "${about}" from ${path}; otherwise somebody intercepts the connection.`,
    });
  output.notice(
    `First connection to ${about}: its key is trusted from now on. Compare it with what its client prints:\n  ${met}`,
  );
  await writePrivateFile(path, `${JSON.stringify({ ...keys, [about]: met }, null, 2)}\n`);
}
