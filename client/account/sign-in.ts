// Signs this machine in: shows a link and a code, waits until a person enters the code, and keeps the token.

import { accountCalls } from '@underpass/rules/api/account-calls.ts';
import { sessionCalls } from '@underpass/rules/api/session-calls.ts';
import type { Project } from '@underpass/rules/entity/entity.ts';
import type { DeviceStart } from '@underpass/rules/entity/resource.ts';
import { limits } from '@underpass/rules/limits.ts';
import { isLoopbackHost } from '@underpass/rules/tunnel/upstream.ts';
import { ClientError } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import { openBrowser } from '../process/open-browser.ts';
import { waitMs } from '../process/wait.ts';
import { type Output, printable } from '../terminal/output.ts';
import { type AccountFlags, openProject, openServer, type ProjectAccount } from './account.ts';
import { callWithoutToken, createApi, isTemporary } from './api.ts';
import { saveSignIn } from './credentials.ts';

/** Warns without TLS: everyone on the network path can read the token. */
export function warnOfPlainHttp(origin: string, output: Output): void {
  const { protocol, hostname } = new URL(origin);
  if (protocol === 'http:' && !isLoopbackHost(hostname))
    output.warning(`${origin} is not encrypted: others on the network can read the sign-in`);
}

interface DeviceOptions {
  /** The name in the list of tokens. */
  readonly name?: string | undefined;
  readonly browser: boolean;
}

/** Returns the token that the server gave for this machine. */
export async function signInByDevice(io: Io, origin: string, options: DeviceOptions): Promise<string> {
  const name = options.name ?? io.hostName.slice(0, limits.apiTokenNameChars);
  const { value: device } = await callWithoutToken(io, origin, accountCalls.startDevice, { payload: { name } });
  if (device === undefined) throw new ClientError('server-unknown', `${origin} does not answer with a code`);
  const link = webLink(device.verificationUrl);
  const opened = options.browser && io.stderr.isTTY && (await openBrowser(io, link));
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
    const { status, value } = await callWithoutToken(io, origin, accountCalls.pollDevice, {
      payload: { deviceCode: device.deviceCode },
    }).catch(notYet);
    if (value !== undefined) return value.token;
    if (status === 410) break;
  }
  throw new ClientError('login-expired', '');
}

/** Lets errors that only delay the answer pass. */
function notYet(error: unknown): { status: number; value: undefined } {
  if (isTemporary(error)) return { status: 0, value: undefined };
  throw error;
}

interface SignIn {
  readonly origin: string;
  readonly token: string;
  /** What to do if the server refuses the token. */
  readonly refusedFix?: string | undefined;
  readonly caPem?: string | undefined;
}

export interface SignedIn {
  readonly email: string;
  readonly project: Project | undefined;
}

/** Checks the token, and keeps it for later commands with the person's project. */
export async function keepSignIn(io: Io, { origin, token, refusedFix, caPem }: SignIn): Promise<SignedIn> {
  const api = createApi(io, { origin, token, refusedFix });
  const [user, projects] = await Promise.all([api.call(sessionCalls.getUser, {}), api.call(sessionCalls.listProjects, {})]);
  const project = projects.find(({ id }) => id === user.defaultProject) ?? projects[0];
  await saveSignIn(io, origin, { token, email: user.email, project: project?.id ?? '' }, caPem);
  return { email: user.email, project };
}

export const signedInText = (origin: string, { email, project }: SignedIn): string =>
  `Signed in to ${origin} as ${email}${project ? `, project ${project.name}` : ''}.`;

/** Begins a sign-in if this machine has none. A token from the environment is for programs: nobody could confirm. */
export async function openOrSignIn(io: Io, flags: AccountFlags, output: Output): Promise<ProjectAccount> {
  try {
    return await openProject(io, flags);
  } catch (error) {
    if (!(error instanceof ClientError) || error.code !== 'not-signed-in' || io.env.UNDERPASS_API_TOKEN) throw error;
  }
  const { origin, caPem } = await openServer(io, flags);
  warnOfPlainHttp(origin, output);
  const token = await signInByDevice(io, origin, { browser: true });
  output.notice(signedInText(origin, await keepSignIn(io, { origin, token, caPem })));
  return openProject(io, flags);
}
