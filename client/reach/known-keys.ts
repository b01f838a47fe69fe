// The keys of clients that carry private tunnels, as this machine met them first: a later one that differs is refused.

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { configFolder, writePrivateFile } from '../account/credentials.ts';
import { readBounded } from '../process/bounded-file.ts';
import { ClientError, fileReason } from '../process/error.ts';
import { guarded } from '../process/guarded.ts';
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
    const keys: unknown = JSON.parse(text);
    if (typeof keys === 'object' && keys !== null && !Array.isArray(keys)) return keys as Record<string, unknown>;
  } catch {}
  throw new ClientError('reach-keys-invalid', path);
}

interface KeyQuestion {
  /** The tunnel, in messages. */
  readonly about: string;
  /** What the key is remembered for: all of them must have the same one. */
  readonly names: readonly string[];
  /** The only key that is right, if the ticket or the user says one. */
  readonly pin: string | undefined;
}

/** One check at a time in this process, and one in several that adds a key: of two first connections at once, the second meets the key of the first. */
let turn: Promise<void> = Promise.resolve();

/** Resolves if the key is the right one, or the first; rejects with reach-untrusted. */
export async function checkKey(io: Io, output: Output, { about, names, pin }: KeyQuestion, met: string): Promise<void> {
  if (pin !== undefined) {
    if (pin !== met) throw new ClientError('reach-untrusted', `${about} presents ${met}, not ${pin}`);
    return;
  }
  const check = turn.then(() => checkKnown(io, output, { about, names }, met));
  turn = check.catch(() => {});
  return check;
}

type Question = Omit<KeyQuestion, 'pin'>;

async function checkKnown(io: Io, output: Output, question: Question, met: string): Promise<void> {
  const path = pathOf(io);
  if (namesToAdd(await readKeys(path), path, question, met).length === 0) return;
  await mkdir(configFolder(io), { recursive: true, mode: 0o700 }).catch(() => {});
  await guarded(path, async () => {
    const keys = await readKeys(path);
    const added = namesToAdd(keys, path, question, met);
    if (added.length === 0) return;
    if (added.length === question.names.length)
      output.notice(
        `First connection to ${question.about}: its key is trusted from now on. Compare it with what its client prints:\n  ${met}`,
      );
    const all = { ...keys, ...Object.fromEntries(added.map((name) => [name, met])) };
    await writePrivateFile(path, `${JSON.stringify(all, null, 2)}\n`);
  });
}

/** The names for which no key is known. Throws if one of the others has another key. */
function namesToAdd(
  keys: Readonly<Record<string, unknown>>,
  path: string,
  { about, names }: Question,
  met: string,
): readonly string[] {
  const known = names.filter((name) => Object.hasOwn(keys, name));
  const others = known.filter((name) => keys[name] !== met);
  if (others.length > 0)
    throw new ClientError('reach-untrusted', `${about} presents ${met}, and had ${String(keys[others[0]!])} before`, {
      fix: `Ask the person who carries the tunnel whether its key changed. If it did, remove "${others.join('" and "')}" from ${path}; otherwise somebody intercepts the connection.`,
    });
  return names.filter((name) => !known.includes(name));
}
