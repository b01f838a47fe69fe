// The signed-in user and their projects, loaded once and kept until something changes them or the page catches up.
import { sessionCalls } from '@underpass/rules/api/session-calls.ts';
import type { Project, User } from '@underpass/rules/entity/entity.ts';
import { selectProject } from '@underpass/rules/screen/project-path.ts';
import { redirect, useRouteLoaderData } from 'react-router';
import { forgetAll, onForget } from '../api/forget.ts';
import { callApi } from '../api/request.ts';
import { getUser } from '../api/session.ts';
import { paths } from '../routing/paths.ts';
import { keepReturnPath } from '../routing/return-path.ts';
import { rememberedProject } from './selected-project.ts';

export interface Session {
  readonly user: User;
  readonly projects: readonly Project[];
}

/** The shell's data: the session, and the project of this page (undefined if the user has none). */
export interface ShellData extends Session {
  readonly project: Project | undefined;
}

export const shellRoute = 'shell';

let kept: Promise<Session | undefined> | undefined;
let last: User | undefined;
/** The server sends this mark to browsers without a session cookie (bundle/first-load.ts), which need not ask. */
let isKnownSignedOut = globalThis.document?.querySelector('meta[name="session"][content="none"]') != null;

/** undefined without a signed-in user. A failure is not kept. */
export function loadSession(): Promise<Session | undefined> {
  kept ??= fetchSession().catch((error: unknown) => {
    kept = undefined;
    throw error;
  });
  return kept;
}

/** Asks again, because others change projects, roles and rules too. Without a signed-in user, what is kept stays. */
export async function refreshSession(): Promise<Session | undefined> {
  const before = kept;
  const session = await fetchSession();
  if (session && kept === before) kept = Promise.resolve(session);
  return session;
}

/** Call it after signing in and after a change to the user's projects; then revalidate or navigate. */
export function forgetSession(): void {
  kept = undefined;
  takeServed();
  isKnownSignedOut = false;
}

onForget(forgetSession);

/** The signed-in user or, after the session has ended, the previous one: a page to return to is theirs alone. */
export const lastUser = (): User | undefined => last;

async function fetchSession(): Promise<Session | undefined> {
  if (isKnownSignedOut) return undefined;
  const session = takeServed() ?? (await askForSession());
  if (session && last && session.user.email !== last.email) forgetAll();
  last = session?.user ?? last;
  return session;
}

/** A page without a session, such as the terms, may stay open while another person signs in. */
const servedLastsMs = 60_000;

/** The page brings the session with which it was served (control/site/signed-in-page.ts). It holds for the first screen. */
function takeServed(): Session | undefined {
  const served = globalThis.document?.getElementById('session');
  served?.remove();
  return served && performance.now() < servedLastsMs ? JSON.parse(served.textContent) : undefined;
}

async function askForSession(): Promise<Session | undefined> {
  // Asked at the same time as the user, in the background, because a 401 is an ordinary answer here.
  const projects = callApi(sessionCalls.listProjects, {}, { background: true });
  projects.catch(() => {});
  const user = await getUser();
  return user && { user, projects: await projects };
}

/** Throws a redirect to /login, which leads back to the page: for loaders of pages that need a session. */
export async function requireSession(request: Request): Promise<Session> {
  const session = await loadSession();
  if (session) return session;
  const { pathname, search } = new URL(request.url);
  keepReturnPath(pathname + search, last?.email);
  throw redirect(paths.login());
}

/** The project that the URL names, else the selected one. undefined for an unknown id in the URL. */
export function projectOfScreen({ user, projects }: Session, projectId: string | undefined): Project | undefined {
  if (projectId !== undefined) return projects.find((project) => project.id === projectId);
  return selectProject(projects, rememberedProject(), user.defaultProject);
}

/** Call it in components inside the project shell. */
export function useShell(): ShellData {
  const data = useRouteLoaderData<ShellData>(shellRoute);
  if (!data) throw new Error('useShell is for pages inside the project shell');
  return data;
}

/** Call it in pages whose URL names a project: the shell has checked that it exists. */
export function useProject(): Project {
  const { project } = useShell();
  if (!project) throw new Error('useProject is for pages of a project');
  return project;
}
