// Every error of the server's command line: code, exit code, title and fix. Match on the code.

export const exitCodes = {
  ok: 0,
  unexpected: 1,
  usage: 2,
  settings: 3,
  local: 4,
  notFound: 5,
  refused: 6,
  unwell: 7,
  forced: 130,
} as const;

interface ErrorRow {
  readonly exit: keyof typeof exitCodes;
  readonly title: string;
  readonly fix: string;
}

export const errors = {
  unexpected: {
    exit: 'unexpected',
    title: 'Something went wrong inside the server',
    fix: 'Report this output; UNDERPASS_LOG=debug prints more.',
  },
  usage: { exit: 'usage', title: 'The command line is wrong', fix: 'See --help of the command.' },
  'settings-refused': {
    exit: 'settings',
    title: 'The settings are wrong',
    fix: 'Correct the settings named; underpass-server config shows them all.',
  },
  'port-in-use': {
    exit: 'local',
    title: 'A port is taken',
    fix: 'Stop the program that uses it, or choose another port with the setting named.',
  },
  'port-refused': {
    exit: 'local',
    title: 'No permission to open a port',
    fix: 'Ports under 1024 need a privilege. Grant it, or choose another port with the setting named.',
  },
  'address-unknown': {
    exit: 'local',
    title: 'This machine has no such address',
    fix: 'Choose one of its addresses with UNDERPASS_LISTEN or another setting whose name ends in LISTEN.',
  },
  'access-log-unusable': {
    exit: 'local',
    title: 'The access log cannot be written',
    fix: 'Give this user access to the file and its folder, or choose another with UNDERPASS_ACCESS_LOG.',
  },
  'home-unusable': {
    exit: 'local',
    title: 'The home folder cannot be used',
    fix: 'Give this user access to the folder, or choose another with UNDERPASS_HOME.',
  },
  'home-in-use': {
    exit: 'local',
    title: 'Another server keeps its state in this folder',
    fix: 'Stop the other server, or give this one a folder of its own with UNDERPASS_HOME.',
  },
  'no-state': {
    exit: 'local',
    title: 'This folder holds no state of a server',
    fix: 'Give the command the settings of its server: UNDERPASS_HOME, or DATABASE_URL.',
  },
  'database-unreachable': {
    exit: 'local',
    title: 'The database cannot be reached',
    fix: 'Check DATABASE_URL and that its server runs.',
  },
  'database-unusable': {
    exit: 'local',
    title: 'The embedded database cannot be used',
    fix: 'Check that this user may write it.',
  },
  'database-damaged': {
    exit: 'local',
    title: 'The embedded database is damaged',
    fix: 'Leave the folder as it is, and restore the last backup into another one: docs/operations.md, "Backup and restore".',
  },
  'database-lost': {
    exit: 'local',
    title: 'The embedded database is missing',
    fix: 'Restore the last backup (docs/operations.md, "Backup and restore"), or start again with an empty folder.',
  },
  'keys-missing': {
    exit: 'local',
    title: 'A key is missing',
    fix: 'Restore the key. If it is lost, see "Backup and restore" in docs/operations.md.',
  },
  'no-room': {
    exit: 'local',
    title: 'The disk is full',
    fix: 'Free space on the disk of UNDERPASS_HOME and start again. The stored data is intact.',
  },
  'file-unusable': {
    exit: 'local',
    title: 'A file cannot be read or written',
    fix: 'Check the path and that this user may use it.',
  },
  'not-running': {
    exit: 'local',
    title: 'No server that can be upgraded runs on this home folder',
    fix: 'Start one, or restart a server of an earlier release. Run the command as the user of the server, with its UNDERPASS_HOME and UNDERPASS_ROLE.',
  },
  'upgrade-failed': {
    exit: 'refused',
    title: 'The server was not replaced and goes on as before',
    fix: 'Correct what the message names, and run the command again. The log of the server has more.',
  },
  'not-found': { exit: 'notFound', title: 'Nothing has that name or id', fix: 'List what exists with the list command.' },
  refused: { exit: 'refused', title: 'The command was refused', fix: 'Correct what the message names.' },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof errors;

export class ServerError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, detail: string, options?: ErrorOptions) {
    super(detail, options);
    this.name = 'ServerError';
    this.code = code;
  }
}

export const exitCodeOf = (error: unknown): number => exitCodes[errors[codeOf(error)].exit];

const codeOf = (error: unknown): ErrorCode => (error instanceof ServerError ? error.code : 'unexpected');

/** `title: detail`, then the fix. Unexpected errors also show their stack. */
export function renderError(error: unknown): string {
  const code = codeOf(error);
  const { title, fix } = errors[code];
  const detail = error instanceof Error ? error.message : String(error);
  const where = code === 'unexpected' && error instanceof Error ? `\n${error.stack ?? ''}` : '';
  return `error ${code}: ${title}: ${detail}\n${fix}${where}\n`;
}
