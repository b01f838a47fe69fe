// The questions of `underpass init`: which ports, and which tunnel for each.

import { basename, relative, sep } from 'node:path';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { parseTunnelName } from '@underpass/rules/tunnel/tunnel-name.ts';
import { defaultTunnelType } from '@underpass/rules/tunnel/tunnel-type.ts';
import type { ListeningPort } from '../local-ports/listening-ports.ts';
import { ClientError } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import { oneLine, printable, renderTable } from '../terminal/output.ts';
import { type Ask, askYes } from '../terminal/prompt.ts';

/** A tunnel of the file. */
export interface Chosen {
  readonly name: string;
  readonly port: ListeningPort;
  /** Whether the account has it, init is to create it, or its user creates it later. */
  readonly plan: 'exists' | 'create' | 'later';
}

export async function askReplacing(ask: Ask, path: string): Promise<void> {
  if (!(await askYes(ask, oneLine(`${path} exists. Replace it?`), false))) throw new ClientError('not-confirmed', '');
}

/** Names of services that speak no HTTP, by their usual port. */
const otherServices: Readonly<Record<number, string>> = {
  ...{ 22: 'SSH', 25: 'mail', 53: 'DNS', 111: 'RPC', 139: 'SMB', 445: 'SMB', 1433: 'SQL Server', 1521: 'Oracle', 2049: 'NFS' },
  ...{ 3306: 'MySQL', 3389: 'remote desktop', 4222: 'NATS', 5432: 'PostgreSQL', 5672: 'AMQP', 5900: 'VNC', 6379: 'Redis' },
  ...{ 9092: 'Kafka', 11211: 'memcached', 27017: 'MongoDB' },
};

/** A screen of 24 lines. A port that is not shown can be typed all the same. */
const mostRows = 20;
/** The most questions that a person answers. */
const mostPorts = 20;

/** Enter alone takes the ports of programs that were started in the current folder: nothing else is opened by accident. */
export async function askPorts(io: Io, ask: Ask, found: readonly ListeningPort[]): Promise<readonly ListeningPort[]> {
  const own = found.filter((port) => isBelow(port.folder, io.cwd) && otherServices[port.port] === undefined);
  const sorted = [...own, ...found.filter((port) => !own.includes(port))];
  io.stderr.write(`${renderPorts(io, sorted)}\n\n`);
  const offered = own.slice(0, mostPorts).map(({ port }) => String(port));
  const byDefault = offered.length === 0 ? '' : ` [${offered.join(',')}]`;
  for (;;) {
    const answer = await ask(`Which ports get a tunnel? For example 3000,5173${byDefault}: `);
    const texts = answer === '' ? offered : answer.split(/[\s,]+/).filter((text) => text !== '');
    const wrong = texts.find((text) => !/^[1-9]\d{0,4}$/.test(text) || Number(text) > 65_535);
    if (wrong !== undefined) io.stderr.write(`${oneLine(`'${wrong}' is not a port: it must be a number from 1 to 65535.`)}\n`);
    else if (texts.length > mostPorts) io.stderr.write(`Choose at most ${mostPorts}.\n`);
    else if (texts.length > 0) return [...new Set(texts)].map((text) => portOf(io, found, Number(text)));
  }
}

function portOf(io: Io, found: readonly ListeningPort[], port: number): ListeningPort {
  const listening = found.find((each) => each.port === port);
  if (listening === undefined) io.stderr.write(`Nothing listens on ${port} now: start your service before "underpass run".\n`);
  return listening ?? { port, host: 'localhost', program: '', folder: '' };
}

function isBelow(folder: string, cwd: string): boolean {
  const path = relative(cwd, folder);
  return folder !== '' && path !== '..' && !path.startsWith(`..${sep}`);
}

function renderPorts(io: Io, ports: readonly ListeningPort[]): string {
  if (ports.length === 0) return 'No program that listens on a port of this machine was found.';
  const rows = ports.slice(0, mostRows).map(({ port, program, folder }) => {
    const other = otherServices[port];
    const about = other === undefined ? program : `${program} (${other}, not HTTP)`.trim();
    return [String(port), about, folder === io.home || isBelow(folder, io.home) ? folder.replace(io.home, '~') : folder];
  });
  const more = ports.length > mostRows ? `\nand ${ports.length - mostRows} more` : '';
  return `${renderTable(['PORT', 'PROGRAM', 'FOLDER'], rows)}${more}`;
}

/** Asks until the answer names a tunnel that can be carried from the file. */
export async function askTunnel(
  io: Io,
  ask: Ask,
  port: ListeningPort,
  known: readonly Tunnel[],
  before: readonly Chosen[],
): Promise<Chosen> {
  const suggested = suggestName(io, port, before);
  for (;;) {
    const answer = await ask(`Tunnel for port ${port.port} [${suggested}]: `);
    const parsed = parseTunnelName(answer === '' ? suggested : answer);
    if (!parsed.ok) {
      io.stderr.write(`${parsed.message}.\n`);
      continue;
    }
    const name = parsed.value;
    const tunnel = known.find((each) => each.name === name);
    const refusal = before.some((each) => each.name === name) ? `${name} is already for another port.` : refusalOf(tunnel);
    if (refusal !== undefined) io.stderr.write(`${refusal} Choose another name.\n`);
    else if (tunnel === undefined) {
      const create = await askYes(ask, `There is no tunnel ${name}. Create it, with a generated address?`, true);
      return { name, port, plan: create ? 'create' : 'later' };
    } else if (await askShared(ask, tunnel)) return { name, port, plan: 'exists' };
  }
}

function refusalOf(tunnel: Tunnel | undefined): string | undefined {
  if (tunnel === undefined) return undefined;
  if (tunnel.type !== defaultTunnelType) return `${tunnel.name} is an ${tunnel.type} tunnel, which this command does not set up.`;
  return tunnel.expiresAt === undefined ? undefined : `${tunnel.name} is a quick tunnel, which its own command carries.`;
}

/** A colleague's service may be behind it: visitors would then reach either of the two. */
function askShared(ask: Ask, { name, ingressDomains: [domain], connectedClients }: Tunnel): Promise<boolean> {
  const place = domain === undefined ? '' : ` at ${domain.url}`;
  if (connectedClients === 0) return askYes(ask, printable(`${name} exists${place}. Use it?`), true);
  const clients = connectedClients === 1 ? 'Another client carries' : `${connectedClients} other clients carry`;
  return askYes(ask, printable(`${clients} ${name}${place} now, and visitors would reach each of you in turn. Use it?`), false);
}

/** The folder's name says more than the program's, which mostly is that of a language. */
function suggestName({ cwd }: Io, { folder, port }: ListeningPort, before: readonly Chosen[]): string {
  const names = [folder, cwd].map(nameOf);
  const name = names.find((each) => each !== '') ?? 'app';
  return before.some((each) => each.name === name) ? `${name}-${port}` : name;
}

const maxSuggestedChars = 40;

function nameOf(path: string): string {
  const words = basename(path)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, maxSuggestedChars);
  return words.replace(/^-+|-+$/g, '');
}
