// Chooses the server, the sign-in and the project of a management command.
import { sessionCalls } from '@underpass/rules/api/session-calls.ts';
import type { Project } from '@underpass/rules/entity/entity.ts';
import { parseUrl } from '@underpass/rules/text/parse-url.ts';
import { parseToken } from '../config/token.ts';
import { ClientError } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import { type Api, createApi } from './api.ts';
import { readCredentials } from './credentials.ts';

export interface AccountFlags {
  readonly server?: string;
  readonly project?: string;
}

const developmentOrigin = 'http://localhost:8400';

/** The flag, then UNDERPASS_SERVER, then the last login, then the development server. */
export async function serverOf(io: Io, flags: AccountFlags): Promise<string> {
  const given = flags.server ?? io.env.UNDERPASS_SERVER;
  if (given) return parseOrigin(given);
  const { current } = await readCredentials(io);
  return current === '' ? developmentOrigin : current;
}

/** The server, with the private CA that its login gave: commands that call it begin here. */
export async function openServer(io: Io, flags: AccountFlags): Promise<{ readonly origin: string; readonly caPem?: string }> {
  const origin = await serverOf(io, flags);
  // A damaged file matters only to commands that need its sign-in.
  const { authorities } = await readCredentials(io).catch(() => ({ authorities: undefined }));
  const caPem = authorities?.[origin];
  if (caPem === undefined) return { origin };
  io.trust(caPem);
  return { origin, caPem };
}

function parseOrigin(text: string): string {
  const url = parseUrl(text.includes('://') ? text : `https://${text}`);
  const bare = url !== null && url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '';
  if (!bare || !['http:', 'https:'].includes(url.protocol)) {
    throw new ClientError('usage', `'${text}' is not the address of a server, e.g. https://underpass.example.com`);
  }
  return url.origin;
}

/** The API with a token: UNDERPASS_API_TOKEN, which is for automation, else the saved sign-in. */
export async function openAccount(io: Io, flags: AccountFlags): Promise<Api> {
  const { origin } = await openServer(io, flags);
  const given = io.env.UNDERPASS_API_TOKEN;
  const token = given ? parseToken(given, 'UNDERPASS_API_TOKEN', givenFix) : (await readCredentials(io)).servers[origin]?.token;
  // Without --server, login goes to the server of the last login.
  const login = flags.server === undefined ? {} : { fix: `Run "underpass login --server ${origin}".` };
  if (!token) throw new ClientError('not-signed-in', origin, login);
  return createApi(io, { origin, token, refusedFix: given ? givenFix : login.fix });
}

const givenFix = 'Set UNDERPASS_API_TOKEN to a token that is valid at this server: create one in the dashboard.';

/** The account with one project chosen. */
export interface ProjectAccount {
  readonly api: Api;
  readonly project: Project;
}

export async function openProject(io: Io, flags: AccountFlags): Promise<ProjectAccount> {
  const api = await openAccount(io, flags);
  const savedProject = (await readCredentials(io)).servers[api.origin]?.project;
  const projects = await api.call(sessionCalls.listProjects, {});
  const saved = projects.find(({ id }) => id === savedProject);
  const wanted = flags.project ?? io.env.UNDERPASS_PROJECT;
  const project = wanted
    ? chooseProject(projects, wanted)
    : (saved ?? projects[0] ?? missingProject('you are not a member of any project'));
  return { api, project };
}

/** Looks for the id first, because a name may look like another project's id. */
function chooseProject(projects: readonly Project[], wanted: string): Project {
  const named = projects.filter(({ name }) => name === wanted);
  if (named.length > 1) missingProject(`${named.length} projects are named '${wanted}': give the id`);
  return projects.find(({ id }) => id === wanted) ?? named[0] ?? missingProject(`'${wanted}'`);
}

function missingProject(detail: string): never {
  throw new ClientError('no-project', detail);
}
