// The frame of the pages on which visitors sign in. They work without scripts, except that of a share link. They show nothing of the
// tunnel, and cannot be framed.

import { logoSvg } from '@underpass/rules/screen/look.ts';
import { escapeHtml } from '@underpass/rules/text/escape-html.ts';
import { productName } from '@underpass/rules/text/text.ts';
import { linkScriptPath } from './link-script.ts';
import { stylePath } from './style.ts';

/** HTML. `html` makes it, and escapes every other value. */
export interface Markup {
  readonly markup: string;
}

type Piece = Markup | string | number | null | readonly Piece[];

function render(piece: Piece): string {
  if (piece === null) return '';
  if (Array.isArray(piece)) return piece.map(render).join('');
  return typeof piece === 'object' ? (piece as Markup).markup : escapeHtml(String(piece));
}

export const html = (parts: TemplateStringsArray, ...pieces: readonly Piece[]): Markup => ({
  markup: parts.reduce((text, part, at) => text + render(pieces[at - 1] ?? null) + part),
});

/** A host name that breaks after its dots and hyphens on a narrow screen. */
export const breakableHost = (host: string): Markup =>
  html`<span class="host">${host.split(/(?<=[.-])/).map((part) => html`${part}<wbr>`)}</span>`;

export const hiddenFields = (fields: Readonly<Record<string, string>>): Markup[] =>
  Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);

export interface Page {
  readonly title: string;
  readonly body: Piece;
  readonly status?: number;
  /** Keeps and posts the secret of a share link (link-script.ts). */
  readonly withScript?: boolean;
  /** The browser goes there at once. Not by a redirect: `form-action` would hold for every redirect that follows. */
  readonly goesTo?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The foot of a page that has nothing to do with a visit. */
  readonly foot?: Piece;
}

const logo: Markup = { markup: logoSvg };

const visitFoot = html`${productName} checks who may visit this address. What you enter here goes to ${productName}, not to the service behind the address. <a href="/abuse">Report abuse</a>`;

const document = ({ title, body, withScript = false, goesTo, foot = visitFoot }: Page): Markup => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${title} · ${productName}</title>
<link rel="icon" type="image/svg+xml" href="/favicon.svg">
<link rel="stylesheet" href="${stylePath}">
${goesTo === undefined ? null : html`<meta http-equiv="refresh" content="0;url=${goesTo}">\n`}${withScript ? html`<script src="${linkScriptPath}" defer></script>\n` : null}</head>
<body>
<header><p>${logo}<span>${productName}</span></p></header>
<main>
<div class="card">
${body}
</div>
</main>
<footer><p>${foot}</p></footer>
</body>
</html>
`;

const contentPolicy = (withScript: boolean): string =>
  [
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self'",
    "font-src 'self'",
    ...(withScript ? ["script-src 'self'"] : []),
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

/** `same-origin`: without any referrer, browsers send `Origin: null` with a form, which looks like a foreign one. */
export const renderPage = (page: Page): Response =>
  new Response(document(page).markup, {
    status: page.status ?? 200,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': contentPolicy(page.withScript ?? false),
      'referrer-policy': 'same-origin',
      ...page.headers,
    },
  });

/** A page with one sentence and, if there is something to do, one button. */
export function renderNote(
  title: string,
  text: Piece,
  options: Omit<Page, 'title' | 'body'> & { readonly action?: { readonly label: string; readonly url: string } },
): Response {
  const { action, ...page } = options;
  const button = action && html`<div class="way"><a class="button" href="${action.url}">${action.label}</a></div>`;
  return renderPage({ ...page, title, body: html`<h1>${title}</h1>\n<p class="lead">${text}</p>\n${button ?? null}` });
}

/** The page for a request of a program (visitors/programs/authorization-requests.ts). */
export const renderEndedRequest = (): Response =>
  renderNote('This request has ended', 'Go back to the program and connect again. Start and finish in the same browser.', {
    status: 400,
  });
