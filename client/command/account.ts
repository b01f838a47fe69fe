// login, logout, whoami, projects, regions: the sign-in and what it gives access to.

import { sessionCalls } from '@underpass/rules/api/session-calls.ts';
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import { tunnelTypesOf } from '@underpass/rules/entity/region.ts';
import type { Command } from 'commander';
import { openAccount, openProject, openServer, serverOf } from '../account/account.ts';
import { createApi } from '../account/api.ts';
import { forgetSignIn } from '../account/credentials.ts';
import { keepSignIn, signedInText, signInByDevice, warnOfPlainHttp } from '../account/sign-in.ts';
import { readCa } from '../config/loaded-tunnel.ts';
import { readToken } from '../config/token.ts';
import { ClientError } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import { type Output, renderFields, renderTable } from '../terminal/output.ts';
import { type CommonFlags, describe, outputOf, projectCommand, type Shell, withServer } from './command-line.ts';

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
  projectCommand(program, 'whoami', 'Show who is signed in, where, and with which role.', ['underpass whoami']).action(
    (flags: CommonFlags) => whoami(shell, flags),
  );
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
  const caPem = await readCa(io, flags.ca);
  if (caPem !== undefined) io.trust(caPem);
  warnOfPlainHttp(origin, output);
  const token = flags.withToken ? await givenToken(io, output) : await signInByDevice(io, origin, flags);
  const signedIn = await keepSignIn(io, { origin, token, refusedFix: flags.withToken ? tokenFix : undefined, caPem });
  const { email, project } = signedIn;
  const text = `${signedInText(origin, signedIn)}\nNext: underpass tunnels list`;
  output.result({ server: origin, email, project: project ?? null }, text);
}

const tokenFix = 'Create an API token in the dashboard, and give it to "underpass login --with-token" on standard input.';

async function givenToken(io: Io, output: Output): Promise<string> {
  try {
    return await readToken(io, '-', output);
  } catch (error) {
    throw error instanceof ClientError ? new ClientError(error.code, error.message, { fix: tokenFix, cause: error }) : error;
  }
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
