// The socket in the home folder over which the commands upgrade, status and keys reach the running server: one line of JSON each
// way. Only the server's user can open it.

import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { type ErrorCode, ServerError } from '../process/error.ts';
import type { ServerLocation } from '../settings/settings.ts';

export interface UpgradeRequest {
  /** Settings for the successor, by name; those of the running server if missing. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Asks how all parts stand, instead of for an upgrade. */
interface StatusRequest {
  readonly ask: 'status';
}

/** Gives the server other master keys, the newest first. */
interface KeysRequest {
  readonly ask: 'keys';
  readonly keys: string;
}

interface DoorAnswers {
  /** Returns what the command prints, as `keys` does. */
  readonly upgrade: (request: UpgradeRequest) => Promise<string>;
  /** Returns rows as JSON. */
  readonly status: () => Promise<string>;
  readonly keys: (text: string) => Promise<string>;
}

type Reply = { readonly done: string } | { readonly code: ErrorCode; readonly why: string };

/** Settings are some kilobytes; a chain of certificates or a key may be among them. */
const mostCharacters = 1_048_576;
const requestMs = 5_000;
/** Longer than the server waits for its successor. */
const upgradeMs = 180_000;

/** One home folder may have a control and an edge. */
const pathOf = ({ home, role }: ServerLocation): string => join(home, `upgrade-${role}.sock`);

const readLine = (socket: Socket): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = '';
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      if (text.length > mostCharacters) socket.destroy();
      else if (text.includes('\n')) resolve(text);
    });
    socket.once('close', () => reject(new Error('the connection ended')));
  });

function parse(text: string): UpgradeRequest | StatusRequest | KeysRequest {
  const { ask, keys, settings } = JSON.parse(text) as UpgradeRequest & Partial<Omit<KeysRequest, 'ask'>> & { ask?: string };
  if (ask === 'status') return { ask };
  if (ask === 'keys' && typeof keys === 'string') return { ask, keys };
  const entries = Object.entries(settings ?? {});
  if (entries.some(([, value]) => typeof value !== 'string')) throw new Error('a setting is not text');
  return settings === undefined ? {} : { settings };
}

/** Returns the function that closes it. */
export async function openUpgradeDoor(settings: ServerLocation, answers: DoorAnswers): Promise<() => Promise<void>> {
  const path = pathOf(settings);
  const start = (request: UpgradeRequest | StatusRequest | KeysRequest): Promise<string> => {
    if (!('ask' in request)) return answers.upgrade(request);
    return request.ask === 'keys' ? answers.keys(request.keys) : answers.status();
  };
  const answer = async (socket: Socket): Promise<void> => {
    socket.on('error', () => {});
    const timer = setTimeout(() => socket.destroy(), requestMs);
    const request = parse(await readLine(socket).finally(() => clearTimeout(timer)));
    const reply: Reply = await start(request).then(
      (done) => ({ done }),
      (error: Error) => ({ code: error instanceof ServerError ? error.code : 'unexpected', why: error.message }),
    );
    socket.end(`${JSON.stringify(reply)}\n`);
  };
  const server = createServer((socket) => void answer(socket).catch(() => socket.destroy()));
  // A killed server leaves its socket behind. The lock of the home folder says that no other server uses it.
  await rm(path, { force: true });
  server.listen(path);
  await once(server, 'listening');
  return async () => {
    server.close();
    await rm(path, { force: true });
  };
}

/** What the server answers; a ServerError if it refuses, or if no server listens. */
export async function askServer(
  settings: ServerLocation,
  request: UpgradeRequest | StatusRequest | KeysRequest,
  replyMs = upgradeMs,
): Promise<string> {
  const socket = connect(pathOf(settings));
  socket.setTimeout(replyMs, () => socket.destroy(new Error('the server does not answer')));
  try {
    await once(socket, 'connect');
  } catch (error) {
    throw new ServerError('not-running', settings.home, { cause: error });
  }
  socket.write(`${JSON.stringify(request)}\n`);
  const text = await readLine(socket).catch(() => '');
  if (text === '') throw new ServerError('upgrade-failed', 'the server ended without an answer; see its log');
  socket.destroy();
  const reply = JSON.parse(text) as Reply;
  if ('done' in reply) return reply.done;
  throw new ServerError(reply.code, reply.why);
}
