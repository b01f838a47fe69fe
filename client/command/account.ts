// login, logout, whoami, projects, regions: the sign-in and what it gives access to.

import { resolve } from 'node:path';
import { accountCalls } from '@underpass/rules/api/account-calls.ts';
import { sessionCalls } from '@underpass/rules/api/session-calls.ts';
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import { limits } from '@underpass/rules/limits.ts';
import { tunnelTypesOf } from '@underpass/rules/region.ts';
import type { DeviceStart } from '@underpass/rules/resource.ts';
import type { Command } from 'commander';
import { openAccount, openProject, openServer, serverOf } from '../account/account.ts';
import { createApi, exchange } from '../account/api.ts';
import { forgetSignIn, saveSignIn } from '../account/credentials.ts';
import { isLocal } from '../carry/proxy.ts';
import { readPem } from '../config/loaded-tunnel.ts';
import { readToken } from '../config/token.ts';
import { ClientError } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import { openBrowser } from '../process/open-browser.ts';
import { waitMs } from '../process/wait.ts';
import { type Output, printable, renderFields, renderTable } from '../terminal/output.ts';
import { type CommonFlags, describe, outputOf, type Shell, withProject, withServer } from './command-line.ts';

interface LoginFlags extends CommonFlags {
  readonly withToken?: boolean;
  readonly browser: boolean;
  readonly name?: string;
  readonly ca?: string;
}

export function addAccountCommands(program: Command, shell: Shell): void {
  withServer(
    describe(program.command('login'), 'Sign in: enter a code in the browser, or give an API token on standard input.', [
      'underpass login --server https://underpass.example.com',
      'underpass login --server https://underpass.internal --ca internal-ca.pem',
      'underpass login --with-token < api-token.txt',
    ]),
  )
    .option('--with-token', 'read an API token from standard input')
    .option('--no-browser', 'print the link instead of opening it')
    .option('--name <name>', 'name of this machine in the list of tokens (default: its host name)')
    .option('--ca <file>', 'CA certificates (PEM) to trust for this server from now on, besides those of the system')
    .action((flags: LoginFlags) => login(shell, flags));

  withServer(
    describe(program.command('logout'), 'End the sign-in of this machine, here and at the server.', ['underpass logout']),
  ).action((flags: CommonFlags) => logout(shell, flags));
  withProject(
    describe(program.command('whoami'), 'Show who is signed in, where, and with which role.', ['underpass whoami']),
  ).action((flags: CommonFlags) => whoami(shell, flags));
  withServer(describe(program.command('projects'), 'List your projects.', ['underpass projects'])).action((flags: CommonFlags) =>
    listProjects(shell, flags),
  );
  withServer(describe(program.command('regions'), 'List the regions a tunnel can be in.', ['underpass regions'])).action(
    (flags: CommonFlags) => listRegions(shell, flags),
  );
}

async function login(shell: Shell, flags: LoginFlags): Promise<void> {
  const { io } = shell;
  const output = outputOf(shell, flags);
  const { origin } = await openServer(io, flags);
  const caPem = flags.ca === undefined ? undefined : await readPem(resolve(io.cwd, flags.ca));
  if (caPem !== undefined) io.trust(caPem);
  warnOfPlainHttp(origin, output);
  const token = flags.withToken ? await givenToken(io, output) : await deviceLogin(shell, flags, origin);
  const api = createApi(io, { origin, token, refusedFix: flags.withToken ? tokenFix : undefined });
  const [user, projects] = await Promise.all([api.call(sessionCalls.getUser, {}), api.call(sessionCalls.listProjects, {})]);
  const project = projects.find(({ id }) => id === user.defaultProject) ?? projects[0];
  await saveSignIn(io, origin, { token, email: user.email, project: project?.id ?? '' }, caPem);
  const text = `Signed in to ${origin} as ${user.email}${project ? `, project ${project.name}` : ''}.\nNext: underpass tunnels list`;
  output.result({ server: origin, email: user.email, project: project ?? null }, text);
}

const tokenFix = 'Create an API token in the dashboard, and give it to "underpass login --with-token" on standard input.';

async function givenToken(io: Io, output: Output): Promise<string> {
  try {
    return await readToken(io, '-', output);
  } catch (error) {
    throw error instanceof ClientError ? new ClientError(error.code, error.message, { fix: tokenFix, cause: error }) : error;
  }
}

/** Without TLS everyone on the network path can read the token. */
function warnOfPlainHttp(origin: string, output: Output): void {
  const { protocol, hostname } = new URL(origin);
  const isHere = isLocal(hostname) || ['127.0.0.1', '[::1]'].includes(hostname);
  if (protocol === 'http:' && !isHere) output.warning(`${origin} is not encrypted: others on the network can read the sign-in`);
}

async function deviceLogin(shell: Shell, flags: LoginFlags, origin: string): Promise<string> {
  const { io } = shell;
  const name = flags.name ?? io.hostName.slice(0, limits.apiTokenNameChars);
  const { value: device } = await exchange(io, origin, accountCalls.startDevice, { payload: { name } });
  if (device === undefined) throw new ClientError('server-unknown', `${origin} does not answer with a code`);
  const link = webLink(device.verificationUrl);
  const opened = flags.browser && io.stderr.isTTY && (await openBrowser(io, link));
  const lead = opened ? 'A browser window opens at' : 'Open this link:';
  io.stderr.write(printable(`${lead}\n\n  ${link}\n\nand enter the code  ${device.userCode}\n\n`));
  const minutes = Math.ceil(device.expiresIn / 60);
  io.stderr.write(`Waiting for the confirmation; the code is valid for ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.\n`);
  return pollDevice(io, origin, device);
}

/** Refuses anything but a web address, because the browser opener could start other programs. */
function webLink(text: string): string {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new ClientError('server-unknown', 'its sign-in link is not a web address');
  return url.href;
}

async function pollDevice(io: Io, origin: string, device: DeviceStart): Promise<string> {
  const endMs = io.now() + device.expiresIn * 1000;
  while (io.now() < endMs) {
    await waitMs(Math.max(0, device.interval) * 1000);
    const { status, value } = await exchange(io, origin, accountCalls.pollDevice, {
      payload: { deviceCode: device.deviceCode },
    }).catch(notYet);
    if (value !== undefined) return value.token;
    if (status === 410) break;
  }
  throw new ClientError('login-expired', '');
}

const temporary: ReadonlySet<string> = new Set(['server-unreachable', 'server-failed', 'too-many-requests']);

/** While the user confirms, the network may change or the server restart: these errors only delay the answer. */
function notYet(error: unknown): { status: number; value: undefined } {
  if (error instanceof ClientError && temporary.has(error.code)) return { status: 0, value: undefined };
  throw error;
}

async function logout(shell: Shell, flags: CommonFlags): Promise<void> {
  const { io } = shell;
  const output = outputOf(shell, flags);
  const origin = await serverOf(io, flags);
  const signIn = await forgetSignIn(io, origin);
  const forgotten = signIn !== undefined;
  const stays = forgotten ? await revoke(io, origin, signIn.token) : undefined;
  if (stays !== undefined) output.warning(stays);
  const text = forgotten ? `Signed out of ${origin}.` : `There was no sign-in to ${origin}.`;
  output.result({ server: origin, signedOut: forgotten }, text);
}

/** Ends the token at the server. Answers why it stays valid there, if it does; this machine forgets it anyway. */
async function revoke(io: Io, origin: string, token: string): Promise<string | undefined> {
  try {
    await createApi(io, { origin, token }).call(sessionCalls.logOutByPost, {});
    return undefined;
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    if (error.code === 'not-signed-in') return undefined;
    if (error.code === 'forbidden') return error.message;
    return `the token stays valid, because the server was not told (${error.message}): revoke it on the page Account of the dashboard`;
  }
}

async function whoami(shell: Shell, flags: CommonFlags): Promise<void> {
  const { api, project } = await openProject(shell.io, flags);
  const user = await api.call(sessionCalls.getUser, {});
  const text = renderFields([
    ['Server', api.origin],
    ['E-mail', user.email],
    ['Project', `${project.name} (${project.id})`],
    ['Role', project.role],
  ]);
  outputOf(shell, flags).result({ server: api.origin, email: user.email, project }, text);
}

async function listProjects(shell: Shell, flags: CommonFlags): Promise<void> {
  const api = await openAccount(shell.io, flags);
  const projects = await api.call(sessionCalls.listProjects, {});
  const rows = projects.map(({ id, name, role }) => [name, role, id]);
  outputOf(shell, flags).result(projects, renderTable(['NAME', 'ROLE', 'ID'], rows));
}

async function listRegions(shell: Shell, flags: CommonFlags): Promise<void> {
  const api = await openAccount(shell.io, flags);
  const regions = await api.call(tunnelCalls.listRegions, {});
  const rows = regions.map((region) => [
    region.name,
    region.description,
    region.available ? 'yes' : 'no',
    tunnelTypesOf(region).join(', '),
    region.wildcardIngressDomain ?? '',
  ]);
  outputOf(shell, flags).result(regions, renderTable(['NAME', 'DESCRIPTION', 'AVAILABLE', 'TYPES', 'GENERATED UNDER'], rows));
}
