// A file that `underpass run` finds in the current folder may come from a stranger, with the clone of a repository. It could send
// any secret of this user to a server of theirs, so the user confirms it first. Remembers the confirmation by path and contents.
import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { configFolder, writePrivateFile } from '../account/credentials.ts';
import type { Config } from '../config/config-file.ts';
import { type NamedTunnel, type PrivateConfig, type TunnelConfig, upstreamLines } from '../config/tunnel-config.ts';
import { readBounded } from '../process/bounded-file.ts';
import { ClientError } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import { type Output, oneLine } from '../terminal/output.ts';
import { confirm } from '../terminal/prompt.ts';

/** A file that was read: its contents count, not what a later read of the path would give. */
export interface FoundFile {
  readonly path: string;
  readonly text: string;
  readonly config: Config;
}

/** Returns what to carry if this user has confirmed the file as it is, or does so now. */
export async function confirmFile(io: Io, found: FoundFile, output: Output): Promise<Config> {
  const file = await withoutLinks(found);
  if (await isConfirmed(io, file)) return file.config;
  if (!io.stdin.isTTY) {
    const fix = `If you trust it, name it with --config ${basename(file.path)}, or run the command in a terminal once.`;
    throw new ClientError('confirmation-needed', `${file.path} comes from the current folder`, { fix });
  }
  const { length } = file.config.tunnels;
  const shown = describeFile(file);
  if (shown.length > maxShownChars) {
    const fix = `Read it. If you trust it, name it with --config ${basename(file.path)}.`;
    throw new ClientError('not-confirmed', `${file.path} is too long to show here`, { fix });
  }
  await confirm(io, shown, length === 1 ? 'Carry this tunnel?' : `Carry these ${length} tunnels?`, false);
  await rememberFile(io, file).catch((error: unknown) => {
    if (!(error instanceof ClientError)) throw error;
    output.warning(`the confirmation is not remembered: ${error.message}`);
  });
  return file.config;
}

/** Throws unless the file is confirmed: on a reload the live status has the terminal, so nobody can be asked. */
export async function requireConfirmed(io: Io, found: FoundFile): Promise<Config> {
  const file = await withoutLinks(found);
  if (await isConfirmed(io, file)) return file.config;
  const fix = 'Start the command again to confirm it.';
  throw new ClientError('confirmation-needed', `${file.path} has changed since it was confirmed. ${fix}`, { fix });
}

/** A file of the folder may lead to a secret elsewhere. What is shown, confirmed and read is where the links lead now. */
async function withoutLinks(file: FoundFile): Promise<FoundFile> {
  const tunnels = await Promise.all(
    file.config.tunnels.map(async (tunnel) => {
      if (tunnel.url === undefined || tunnel.token.kind !== 'file') return tunnel;
      const { path } = tunnel.token;
      return { ...tunnel, token: { kind: 'file', path: await realpath(path).catch(() => path) } as const };
    }),
  );
  return { ...file, config: { ...file.config, tunnels } };
}

/** Some forty tunnels. A longer text scrolls away, and what it hides would be confirmed unread. */
const maxShownChars = 10_000;

function describeFile({ path, config: { tunnels, health } }: FoundFile): string {
  return [
    `${path} is new here, or has changed. It carries:`,
    ...tunnels.flatMap(describeTunnel),
    ...(health === undefined ? [] : [`  answers /healthz and /readyz on ${health}`]),
    'Each tunnel opens its upstreams to visitors and sends its token to its server.',
  ]
    .map(oneLine)
    .join('\n');
}

/** A name or a path could otherwise push the lines below it off the screen. */
const maxNameChars = 100;
const shorten = (text: string): string => (text.length > maxNameChars ? `${text.slice(0, maxNameChars)}…` : text);

function describeTunnel({ name, url, token, upstreams, ...rest }: TunnelConfig | NamedTunnel): readonly string[] {
  const { caFile, upstreamCaFile, upstreamInsecure, private: privacy } = rest;
  return [
    `  ${shorten(name)} (${upstreams.type})`,
    url === undefined
      ? '    your tunnel of this name, at the server that you are signed in to'
      : `    server: ${new URL(url).host}, token: ${secretOf(token)}`,
    ...(caFile === undefined ? [] : [`    trusts the certificates in ${shorten(caFile)} for its server`]),
    ...upstreamLines(upstreams).map((line) => `    ${line}`),
    ...(upstreamCaFile === undefined ? [] : [`    trusts the certificates in ${shorten(upstreamCaFile)} for its upstreams`]),
    ...(upstreamInsecure ? ['    accepts any certificate of its upstreams'] : []),
    ...(privacy === undefined ? [] : [describePrivacy(privacy)]),
  ];
}

/** Who has the key can make tickets, so the file of a stranger must not choose it unseen. */
function describePrivacy({ ticketsOnly, keyFile }: PrivateConfig): string {
  const key = keyFile === undefined ? 'your key' : `the key in ${shorten(keyFile)}`;
  return `    private: ${ticketsOnly ? 'only for tickets made' : 'for members and tickets,'} with ${key}`;
}

function secretOf(token: TunnelConfig['token']): string {
  switch (token.kind) {
    case 'file':
      return `file ${token.path}`;
    case 'env':
      return `environment variable ${token.name}`;
    case 'value':
      return 'given';
  }
}

/** A digest of the file and of the secrets that it leads to, so that a changed link asks again. */
function digestOf({ text, config }: FoundFile): string {
  const secrets = config.tunnels.map(({ token }) => token && secretOf(token));
  return createHash('sha256')
    .update(JSON.stringify([text, secrets]))
    .digest('hex');
}

/** More folders than a person works in: the oldest are asked about again. */
const maxConfirmed = 500;
/** A path of Linux has 4096 bytes at most. */
const maxConfirmedBytes = 4 * 1024 * 1024;

const confirmedPath = (io: Io): string => join(configFolder(io), 'confirmed-files.json');

/** Digests by path. What cannot be read confirms nothing. */
async function readConfirmed(io: Io): Promise<ReadonlyMap<string, string>> {
  try {
    const value: unknown = JSON.parse(await readBounded(confirmedPath(io), maxConfirmedBytes));
    return new Map(Object.entries(value as Record<string, string>));
  } catch {
    return new Map();
  }
}

async function isConfirmed(io: Io, file: FoundFile): Promise<boolean> {
  return (await readConfirmed(io)).get(file.path) === digestOf(file);
}

/** Marks a file as confirmed: the user has said so, or has just had it written. */
export async function rememberFile(io: Io, file: FoundFile): Promise<void> {
  const others = [...(await readConfirmed(io))].filter(([key]) => key !== file.path).slice(1 - maxConfirmed);
  const confirmed = Object.fromEntries([...others, [file.path, digestOf(file)]]);
  await writePrivateFile(confirmedPath(io), `${JSON.stringify(confirmed, null, 2)}\n`);
}
