// The page for browsers with a session cookie. It names the files of its screen, and the screen's first calls, so that the browser asks
// for everything at once; and it brings the answers that every screen waits for.

import { setTimeout } from 'node:timers/promises';
import { findFirstCalls, screenOf } from '@underpass/rules/api/first-call.ts';
import { sessionCalls } from '@underpass/rules/api/session-calls.ts';
import type { FileFolder } from './files.ts';

/** Makes a call of the table for the browser that asks for the page. */
export type Ask = (path: string) => Promise<Response>;

/** A page without the answers asks for them itself: sooner than it would wait for a slow database. */
const mostWaitMs = 300;

/** Serves the page, or undefined without a built dashboard. */
export async function serveSignedIn(dashboard: FileFolder, request: Request, ask: Ask): Promise<Response | undefined> {
  const url = new URL(request.url);
  const page =
    (await servePage(dashboard, request, `signed-in.${screenOf(url.pathname)}.html`, ask)) ??
    (await servePage(dashboard, request, 'signed-in.html', ask));
  for (const call of findFirstCalls(url)) page?.headers.append('link', `<${call}>; rel=preload; as=fetch; crossorigin`);
  return page;
}

async function servePage(dashboard: FileFolder, request: Request, name: string, ask: Ask): Promise<Response | undefined> {
  const plain = await dashboard.serve(new Request(request.url), name);
  if (!plain) return undefined;
  const session = isOpened(request) ? await findSession(ask) : undefined;
  if (session === undefined) {
    await plain.body?.cancel();
    return dashboard.serve(request, name);
  }
  // It is private, and not compressed, as no answer with such content is (request/http/compress.ts).
  const headers = { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' };
  return new Response(withSession(await plain.text(), session), { headers });
}

/**
 * A person opens the page: the calls count for its session. What another page fetches with the person's cookie, an image or a
 * frame or something for later, must not use them up.
 */
function isOpened({ method, headers }: Request): boolean {
  const destination = headers.get('sec-fetch-dest') ?? 'document';
  return method === 'GET' && destination === 'document' && !headers.has('sec-purpose');
}

/** undefined for a session that has ended, and without an answer in time. */
async function findSession(ask: Ask): Promise<object | undefined> {
  const asked = Promise.all([sessionCalls.getUser, sessionCalls.listProjects].map(({ path }) => ask(path)));
  const answers = await Promise.race([asked, setTimeout(mostWaitMs, undefined, { ref: false })]);
  if (!answers?.every(({ ok }) => ok)) return undefined;
  const [user, projects] = await Promise.all(answers.map((answer) => answer.json()));
  return { user, projects };
}

const preloadedCalls = /<link rel="preload" as="fetch"[^>]*>\s*/g;

/** Adds it as data, which no browser runs. dashboard/session/session.ts takes it from there. */
function withSession(page: string, session: object): string {
  const json = JSON.stringify(session).replaceAll('<', '\\u003c');
  const data = `<script type="application/json" id="session">${json}</script>`;
  return page.replace(preloadedCalls, '').replace('</head>', () => `${data}\n  </head>`);
}
