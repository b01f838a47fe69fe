// Everything that is not a call: the dashboard's pages, downloads, installers, health and security.txt.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { dayMs } from '@underpass/rules/limits.ts';
import type { Env, Hono } from 'hono';
import { writeSetting } from '../platform/store/setting.ts';
import type { Store } from '../platform/store/store.ts';
import type { CallDeps } from '../request/deps.ts';
import { readCookie } from '../request/http/cookie.ts';
import { answerMethod } from '../request/http/method.ts';
import { createFileFolder, type FileFolder } from './files.ts';
import { readReleaseKey } from './release-key.ts';
import { type Ask, serveSignedIn } from './signed-in-page.ts';

export interface SiteSettings {
  readonly origin: string;
  readonly securityContact: string;
  /** Folders of the built dashboard, of the released CLI files, and of install.sh and install.ps1. */
  readonly dashboard?: string;
  readonly releases?: string;
  readonly installers?: string;
  /** The certificate of the local authority, for browsers and clients that are to trust it. */
  readonly localCa?: string;
}

const plain = (text: string, status = 200): Response =>
  new Response(text, { status, headers: { 'content-type': 'text/plain; charset=utf-8' } });
const notFound = (): Response => plain('Page not found', 404);

/** True when a browser opens or reloads a page. Only then the dashboard's page stands in for a missing file. */
const wantsPage = (request: Request): boolean =>
  ['GET', 'HEAD'].includes(request.method) && (request.headers.get('accept') ?? '*/*').match(/text\/html|\*\/\*/) !== null;

const serveCa = (pem: string | undefined): Response =>
  pem === undefined ? notFound() : new Response(pem, { headers: { 'content-type': 'application/x-x509-ca-cert' } });

/** People without a session begin with the sign-in, and see it at once. */
const publicPage = (path: string): string => (path === '' || path === 'login' ? 'sign-in.html' : 'index.html');

async function servePage(
  dashboard: FileFolder,
  request: Request,
  path: string,
  sessionCookie: string,
  ask: Ask,
): Promise<Response> {
  const file = path === '' ? undefined : await dashboard.serve(request, path);
  if (file) return file;
  if (path.startsWith('assets/') || !wantsPage(request)) return notFound();
  const hasSession = readCookie(request.headers, sessionCookie) !== undefined;
  const page = hasSession ? await serveSignedIn(dashboard, request, ask) : await dashboard.serve(request, publicPage(path));
  page?.headers.append('vary', 'cookie');
  return page ?? notFound();
}

/** RFC 9116. The expiry changes once a day, and is never in the past. */
function renderSecurityTxt({ origin, securityContact }: SiteSettings, nowMs: number): string {
  const expires = new Date((Math.floor(nowMs / dayMs) + 180) * dayMs).toISOString();
  const canonical = `${origin}/.well-known/security.txt`;
  return `Contact: ${securityContact}\nContact: ${origin}/abuse\nExpires: ${expires}\nCanonical: ${canonical}\nPreferred-Languages: en\n`;
}

/** The installers are templates: they download from this server and trust its release key. */
async function serveInstaller({ installers, releases, origin }: SiteSettings, name: string): Promise<Response> {
  const text = installers && (await readFile(join(installers, name), 'utf8').catch(() => undefined));
  return text === undefined
    ? notFound()
    : plain(text.replaceAll('@ORIGIN@', origin).replaceAll('@RELEASE_KEY@', await readReleaseKey(releases)));
}

/** A write, because a full disk and a standby still answer reads. */
const writeProbe = ({ db }: Store): Promise<boolean> =>
  writeSetting(db, 'ready-probe', 0).then(
    () => true,
    () => false,
  );

/** Anybody may ask, so an answer holds for a second. */
const probeEveryMs = 1_000;

function createWriteCheck(store: Store): () => Promise<boolean> {
  let answer = Promise.resolve(false);
  let until = 0;
  return () => {
    if (performance.now() < until) return answer;
    until = performance.now() + probeEveryMs;
    answer = writeProbe(store);
    return answer;
  };
}

interface SiteDeps extends Pick<CallDeps, 'store' | 'cookies' | 'clock'> {
  readonly settings: SiteSettings;
  /** True from the end of the start until the server has been asked to stop. */
  readonly isRunning: () => boolean;
}

export function addSite<E extends Env>(app: Hono<E>, { settings, store, cookies, clock, isRunning }: SiteDeps): void {
  const dashboard = createFileFolder(settings.dashboard);
  const releases = createFileFolder(settings.releases);
  const takesWrites = createWriteCheck(store);
  app.get('/healthz', () => plain('ok\n'));
  app.get('/readyz', async () => (isRunning() && (await takesWrites()) ? plain('ready\n') : plain('not ready\n', 503)));
  app.get('/.well-known/security.txt', () => plain(renderSecurityTxt(settings, clock())));
  app.get('/ca.pem', () => serveCa(settings.localCa));
  for (const name of ['install.sh', 'install.ps1']) app.get(`/${name}`, () => serveInstaller(settings, name));
  app.get('/releases/*', async (c) => (await releases.serve(c.req.raw, c.req.path.slice('/releases/'.length))) ?? notFound());
  app.get('*', (c) => {
    const cookie = c.req.header('cookie') ?? '';
    const ask: Ask = async (path) => app.fetch(new Request(new URL(path, c.req.url), { headers: { cookie } }), { ...c.env });
    return servePage(dashboard, c.req.raw, c.req.path.slice(1), cookies.session, ask);
  });
  app.all('*', (c) => answerMethod(c.req.raw, ['GET']));
  app.notFound(notFound);
}
