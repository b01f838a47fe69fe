// Every error of the command line: code, title, fix, exit code. docs/cli.md is generated from this table.
// Match on the code, never on a message.

import type { Parsed } from '@underpass/rules/parsed.ts';

/** Each exit code and what it means. Stable: scripts depend on them. */
const exits = {
  ok: [0, 'Done.'],
  unexpected: [1, 'A bug in the program.'],
  usage: [2, 'The command line is wrong.'],
  local: [3, 'A problem on this machine: a file, a port or the service manager.'],
  signIn: [4, 'Not signed in, or the token is refused.'],
  forbidden: [5, 'The role does not allow this.'],
  notFound: [6, 'No such tunnel, domain, group, project or release.'],
  refused: [7, 'The server refused the request as it is.'],
  network: [8, 'The server, the region or the upstream cannot be reached.'],
  busy: [9, 'The server is overloaded or failing: try again later.'],
  doctor: [10, 'The doctor found a problem.'],
  untrusted: [11, 'A download does not match its checksum or signature.'],
  forced: [130, 'Interrupted a second time while draining.'],
} as const;

type Exit = keyof typeof exits;

const each = <At extends 0 | 1>(at: At) =>
  Object.fromEntries(Object.entries(exits).map(([name, exit]) => [name, exit[at]])) as {
    readonly [Name in Exit]: (typeof exits)[Name][At];
  };

export const exitCodes = each(0);
export const exitCodeMeanings: Readonly<Record<Exit, string>> = each(1);

interface ErrorEntry {
  readonly title: string;
  readonly fix: string;
  readonly exit: Exit;
}

export const errors = {
  unexpected: {
    title: 'Something went wrong inside the program',
    fix: 'Run the command again with UNDERPASS_DEBUG=1 and report what it prints.',
    exit: 'unexpected',
  },
  usage: { title: 'The command line is wrong', fix: 'See --help of the command.', exit: 'usage' },
  'confirmation-needed': {
    title: 'Confirmation is needed, and there is no terminal to ask in',
    fix: 'Add --yes, or run the command in a terminal.',
    exit: 'usage',
  },
  'not-confirmed': { title: 'Not confirmed, nothing was changed', fix: 'Answer y to continue.', exit: 'usage' },
  'config-not-found': {
    title: 'The configuration file cannot be read',
    fix: 'Name it with --config, or create underpass.yaml.',
    exit: 'local',
  },
  'config-invalid': {
    title: 'The configuration file is wrong',
    fix: 'Correct the lines named, then run "underpass check".',
    exit: 'local',
  },
  'token-missing': {
    title: 'No token was given',
    fix: 'Use --token-file FILE, --token-file - for standard input, or UNDERPASS_TOKEN.',
    exit: 'usage',
  },
  'token-file-unreadable': {
    title: 'The token file cannot be read',
    fix: 'Check the path and that this user may read it.',
    exit: 'local',
  },
  'token-malformed': {
    title: 'That is not a token',
    fix: 'A token is one line without spaces. Copy it again from the Connect section of the tunnel.',
    exit: 'usage',
  },
  'ca-file-invalid': {
    title: 'The file does not hold certificates',
    fix: 'Give a file with certificates in PEM form.',
    exit: 'local',
  },
  'file-not-written': { title: 'A file cannot be written', fix: 'Check the permissions and the free space.', exit: 'local' },
  'credentials-invalid': {
    title: 'The credentials file is damaged',
    fix: 'Run "underpass login": it writes a new file.',
    exit: 'local',
  },
  'credentials-unreadable': {
    title: 'The credentials file cannot be read',
    fix: 'Check that this user may read the file.',
    exit: 'local',
  },
  'port-in-use': {
    title: 'Cannot listen on that address',
    fix: 'Choose another address with --health, or another port with --inspect-port.',
    exit: 'local',
  },
  'secret-file-unreadable': {
    title: 'The file of webhook secrets cannot be read',
    fix: 'Check the path and that this user may read it.',
    exit: 'local',
  },
  'inspector-missing': {
    title: 'No client with an inspector runs here',
    fix: 'Start one as this user with --inspect.',
    exit: 'notFound',
  },
  'carry-impossible': {
    title: 'The tunnel cannot start with these settings',
    fix: 'Correct the setting that the message names.',
    exit: 'network',
  },
  'not-ready': {
    title: 'The tunnel did not become ready',
    fix: 'Run "underpass doctor" with the name of the tunnel.',
    exit: 'network',
  },
  'not-signed-in': { title: 'You are not signed in', fix: 'Run "underpass login".', exit: 'signIn' },
  'login-expired': {
    title: 'The sign-in was denied or not confirmed in time',
    fix: 'Run "underpass login" again and enter the code in the browser.',
    exit: 'signIn',
  },
  forbidden: {
    title: 'Your role does not allow this',
    fix: 'Ask an owner or admin of the project, or sign in with a token of another role.',
    exit: 'forbidden',
  },
  'not-found': { title: 'Not found', fix: 'List what exists, and check --project and --server.', exit: 'notFound' },
  'no-project': {
    title: 'There is no such project',
    fix: 'Run "underpass projects", then give --project NAME or ID.',
    exit: 'notFound',
  },
  'domain-unverified': {
    title: 'The TXT record was not found yet',
    fix: 'Set the record shown; DNS propagation takes 60 seconds to 48 hours.',
    exit: 'refused',
  },
  'token-hidden': {
    title: 'Your role may not read the token of this tunnel',
    fix: 'Ask a member of the project for the token, and use "underpass http" or "underpass ingress" with --token-file.',
    exit: 'forbidden',
  },
  'tunnel-waiting': {
    title: 'The tunnel waits for domain verification',
    fix: 'Run "underpass domains verify APEX", then try again.',
    exit: 'refused',
  },
  'folder-unusable': {
    title: 'The folder cannot be served',
    fix: 'Name a folder that this user may read.',
    exit: 'local',
  },
  'tunnel-deleted': {
    title: 'The tunnel was deleted at the server',
    fix: 'Run the command again to open a new one at the same address.',
    exit: 'refused',
  },
  'request-refused': { title: 'The server refused this', fix: 'Correct what the message names.', exit: 'refused' },
  conflict: { title: 'That is in use or exists already', fix: 'Change or remove what the message names.', exit: 'refused' },
  stale: { title: 'Nothing was saved', fix: 'Run the command again.', exit: 'refused' },
  'too-many-requests': { title: 'Too many requests', fix: 'Wait a little and try again.', exit: 'busy' },
  'server-failed': { title: 'The server failed', fix: 'Try again later; the log of the server says why.', exit: 'busy' },
  'server-unreachable': {
    title: 'The server cannot be reached',
    fix: 'Check --server or UNDERPASS_SERVER, then run "underpass doctor".',
    exit: 'network',
  },
  'proxy-failed': {
    title: 'The HTTP proxy cannot be used',
    fix: 'Check HTTPS_PROXY, or exempt the host with NO_PROXY.',
    exit: 'network',
  },
  'server-unknown': {
    title: 'The server that answered is not Underpass',
    fix: 'Give the address of the dashboard with --server or UNDERPASS_SERVER.',
    exit: 'network',
  },
  'doctor-found-problems': { title: 'Not all checks passed', fix: 'Follow the fix below each problem.', exit: 'doctor' },
  'release-untrusted': {
    title: 'The download does not match its checksum or signature',
    fix: 'Nothing was installed. Try again; if it fails again, tell the operator.',
    exit: 'untrusted',
  },
  'release-missing': {
    title: 'There is no release for this system',
    fix: 'Run "underpass update --check", or build from source.',
    exit: 'notFound',
  },
  'update-unsupported': {
    title: 'This copy cannot update itself',
    fix: 'Update it the way it was installed, or use the installer script.',
    exit: 'local',
  },
  'service-unsupported': {
    title: 'Services cannot be managed here',
    fix: 'Run "underpass run" under the supervisor of this system.',
    exit: 'local',
  },
  'service-program-private': {
    title: 'A system service cannot run a program from a private folder',
    fix: 'Install the program to /usr/local/bin first.',
    exit: 'local',
  },
  'service-program-temporary': {
    title: 'npx keeps this program only for a while, so a service cannot run it',
    fix: 'Install it with "npm install --global underpass", then run the same command without npx.',
    exit: 'local',
  },
  'service-failed': {
    title: 'The service manager refused',
    fix: 'Read its message; system services need root (sudo).',
    exit: 'local',
  },
  'ssh-unreachable': {
    title: 'The SSH host cannot be reached',
    fix: 'Check the name and the network. If both are right, the host or "underpass ssh serve" beside it may be down.',
    exit: 'network',
  },
  'ssh-untrusted': {
    title: 'The certificate of the server is not the one that --pin expects',
    fix: 'Ask the person who runs "underpass ssh serve" for what "underpass ssh serve --print" prints now. If the pin is unchanged, somebody intercepts the connection.',
    exit: 'network',
  },
  'ssh-refused': {
    title: 'There is no such SSH host, or your address may not reach it',
    fix: 'Check the name, or ask the person who runs "underpass ssh serve" to allow your address.',
    exit: 'refused',
  },
  'ssh-identity-invalid': {
    title: 'The identity file is damaged',
    fix: 'Restore it, or delete it: a new one is made, and every visitor then needs new lines for ~/.ssh/config.',
    exit: 'local',
  },
  'reach-unreachable': {
    title: 'The private tunnel cannot be reached',
    fix: 'Check the network, and that "underpass" and the service run at the other end.',
    exit: 'network',
  },
  'reach-untrusted': {
    title: 'The key of the client that carries the tunnel is not the right one',
    fix: 'Ask the person who carries the tunnel for its key and a new ticket. If the key is unchanged, somebody intercepts the connection.',
    exit: 'network',
  },
  'reach-refused': {
    title: 'The private tunnel does not admit you',
    fix: 'Ask somebody who manages the tunnel for a ticket, or to make you a member of the project.',
    exit: 'refused',
  },
  'reach-key-invalid': {
    title: 'The key file of private tunnels is damaged',
    fix: 'Restore it, or delete it: a new one is made, and everybody who reaches the tunnel then needs the new key.',
    exit: 'local',
  },
  'reach-key-missing': {
    title: 'There is no key of a client that carries private tunnels here',
    fix: 'Run the command on the machine that carries the tunnel, or name the key with --key-file.',
    exit: 'local',
  },
  'reach-keys-invalid': {
    title: 'The file of known keys cannot be read',
    fix: 'Correct or delete it: without it the next key of each tunnel is trusted.',
    exit: 'local',
  },
  'ticket-malformed': {
    title: 'That is not a ticket',
    fix: 'A ticket is one line that begins with reach_. Ask for it again.',
    exit: 'usage',
  },
  'mcp-server-silent': {
    title: 'The MCP server does not answer',
    fix: 'Run its command by itself, and check that it speaks MCP on standard input and output.',
    exit: 'local',
  },
  'service-missing': { title: 'No such service is installed', fix: 'Run "underpass service install".', exit: 'notFound' },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errors;

export class ClientError extends Error {
  readonly code: ErrorCode;
  /** The table's fix, or a more exact one. */
  readonly fix: string;

  constructor(code: ErrorCode, detail: string, options: { fix?: string | undefined; cause?: unknown } = {}) {
    super(detail, { cause: options.cause });
    this.code = code;
    this.fix = options.fix ?? errors[code].fix;
  }
}

/** The value that a flag or an argument gives. */
export function orUsage<T>(parsed: Parsed<T>): T {
  if (!parsed.ok) throw new ClientError('usage', parsed.message);
  return parsed.value;
}

const fileReasons: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  ENOTDIR: 'no such file',
  EISDIR: 'it is a folder',
  EEXIST: 'it is there already',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space left',
};

/** Why a file cannot be read or written. Callers print it after the path. */
export function fileReason(cause: unknown): string {
  const { code = '', message } = cause as NodeJS.ErrnoException;
  return fileReasons[code] ?? message;
}

const listenReasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use',
  EADDRNOTAVAIL: 'this machine has no such address',
  EACCES: 'this user may not open the port',
  ENOTFOUND: 'the name does not resolve',
  EAI_AGAIN: 'the name does not resolve now',
  // The compiled program's word for it.
  ENOTTY: 'the name does not resolve',
};

/** Why a port cannot be opened. The runtimes' own texts differ, and one of them asks back. */
export function listenReason(cause: unknown): string {
  const { code = '', message } = cause as NodeJS.ErrnoException;
  return listenReasons[code] ?? (code || message);
}

export function exitCodeOf(code: ErrorCode): number {
  return exitCodes[errors[code].exit];
}
