// The file of sign-ins: one token per server, mode 0600, in the user's configuration folder. It also holds the private CAs of
// servers (login --ca).
import { randomUUID } from 'node:crypto';
import { chmod, link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ClientError, fileReason } from '../process/error.ts';
import type { Io } from '../process/io.ts';

interface SignIn {
  readonly token: string;
  readonly email: string;
  readonly project: string;
}

export interface Credentials {
  readonly version: 1;
  /** The server of the last login; kept after a logout. */
  readonly current: string;
  readonly servers: Readonly<Record<string, SignIn>>;
  /** PEM of the private CA of a server; kept after a logout. */
  readonly authorities?: Readonly<Record<string, string>>;
}

const none: Credentials = { version: 1, current: '', servers: {} };

/** XDG on Linux and macOS, the roaming folder on Windows. */
export function configHome(io: Io): string {
  if (io.env.XDG_CONFIG_HOME) return io.env.XDG_CONFIG_HOME;
  if (io.platform === 'win32' && io.env.APPDATA) return io.env.APPDATA;
  return join(io.home, '.config');
}

export function configFolder(io: Io): string {
  return join(configHome(io), 'underpass');
}

function credentialsPath(io: Io): string {
  return join(configFolder(io), 'credentials.json');
}

/** Reads the sign-in; root under sudo without its own uses that of the user who called sudo. */
export async function readCredentials(io: Io): Promise<Credentials> {
  const own = await readFrom(credentialsPath(io));
  if (own !== undefined && Object.keys(own.servers).length > 0) return own;
  const home = await homeBehindSudo(io);
  const theirs = home === undefined ? undefined : await readFrom(join(home, '.config', 'underpass', 'credentials.json'));
  return theirs ?? own ?? none;
}

async function homeBehindSudo({ userId, env, execute }: Io): Promise<string | undefined> {
  const user = env.SUDO_USER ?? '';
  if (userId !== 0 || user === 'root' || !/^[A-Za-z_][A-Za-z0-9_.-]*$/.test(user)) return undefined;
  // The shell expands ~NAME from the system's list of users, and does not change the text if the user is unknown.
  const { stdout } = await execute('/bin/sh', ['-c', `echo ~${user}`]);
  const home = stdout.trim();
  return home.startsWith('/') ? home : undefined;
}

async function readFrom(path: string): Promise<Credentials | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    if (['ENOENT', 'ENOTDIR'].includes((cause as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw new ClientError('credentials-unreadable', `${path} (${fileReason(cause)})`, { cause });
  }
  return parseCredentials(text, path);
}

function parseCredentials(text: string, path: string): Credentials {
  try {
    const value = JSON.parse(text) as Partial<Credentials> | null;
    const { version, current, servers, authorities = {} } = value ?? {};
    const areTexts = Object.values(authorities).every((pem: unknown) => typeof pem === 'string');
    if (version === 1 && typeof current === 'string' && isSignIns(servers) && areTexts) return value as Credentials;
  } catch {
    // Falls through to the one error for a damaged file.
  }
  throw new ClientError('credentials-invalid', path, { fix: `Delete ${path}, then run "underpass login".` });
}

function isSignIns(servers: unknown): boolean {
  if (typeof servers !== 'object' || servers === null) return false;
  return Object.values(servers).every(
    (item: unknown) =>
      typeof item === 'object' &&
      item !== null &&
      ['token', 'email', 'project'].every((key) => typeof (item as Record<string, unknown>)[key] === 'string'),
  );
}

/** Keeps the CA that the server has if `caPem` is absent. */
export async function saveSignIn(io: Io, origin: string, signIn: SignIn, caPem?: string): Promise<void> {
  const before = (await readFrom(credentialsPath(io)).catch(() => none)) ?? none;
  const authorities = { ...before.authorities, ...(caPem === undefined ? {} : { [origin]: caPem }) };
  await writeCredentials(io, { version: 1, current: origin, servers: { ...before.servers, [origin]: signIn }, authorities });
}

/** Returns what it forgot, if there was a sign-in. The server itself is remembered for the next login. */
export async function forgetSignIn(io: Io, origin: string): Promise<SignIn | undefined> {
  const before = (await readFrom(credentialsPath(io))) ?? none;
  const signIn = before.servers[origin];
  if (signIn === undefined) return undefined;
  const servers = Object.fromEntries(Object.entries(before.servers).filter(([key]) => key !== origin));
  const current = before.current === origin ? (Object.keys(servers)[0] ?? origin) : before.current;
  await writeCredentials(io, { ...before, current, servers });
  return signIn;
}

async function writeCredentials(io: Io, credentials: Credentials): Promise<void> {
  await writePrivateFile(credentialsPath(io), `${JSON.stringify(credentials, null, 2)}\n`);
}

/** Writes the whole file or nothing. Other users cannot read it, not even while it is written. */
export function writePrivateFile(path: string, text: string): Promise<void> {
  return placeDraft(path, text, (draft) => rename(draft, path));
}

/** The same, but a file that is there stays: of several that make it at once, one wins. */
export function createPrivateFile(path: string, text: string): Promise<void> {
  return placeDraft(path, text, (draft) =>
    link(draft, path)
      // Some file systems have no links.
      .catch((cause) => (cause.code === 'EEXIST' ? undefined : writeFile(path, text, { mode: 0o600, flag: 'wx' })))
      .catch((cause) => (cause.code === 'EEXIST' ? undefined : Promise.reject(cause))),
  );
}

async function placeDraft(path: string, text: string, place: (draft: string) => Promise<void>): Promise<void> {
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    await makeFolder(dirname(path));
    await writeFile(draft, text, { mode: 0o600 });
    await chmod(draft, 0o600);
    await place(draft);
  } catch (cause) {
    throw new ClientError('file-not-written', `${path} (${fileReason(cause)})`, { cause });
  } finally {
    await rm(draft, { force: true }).catch(() => {});
  }
}

/** Makes the folder. Node's recursive mkdir reports ENOENT on a read-only file system; the plain mkdir the true reason. */
async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 }).catch((cause: NodeJS.ErrnoException) => mkdir(cause.path ?? path, 0o700));
}
