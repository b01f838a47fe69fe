// Names in the page all that its first load needs, so that a browser asks for everything at once and not for one file after another.
// A browser with a session cookie gets signed-in.html. Without one it gets index.html, or sign-in.html, which shows the form before
// any script has come (control/site/site.ts chooses).
import { join } from 'node:path';
import { sessionCalls } from '@underpass/rules/api/session-calls.ts';
import react from '@vitejs/plugin-react';
import { type HtmlTagDescriptor, type Plugin, type Rolldown, runnerImport } from 'vite';
import { application, react as reactFile, shell, start } from './chunks.ts';

const textFont = /overpass-basic.*\.woff2$/;
const codeFont = /overpass-mono-basic.*\.woff2$/;

type Bundle = Rolldown.OutputBundle;

const render = (attrs: Readonly<Record<string, string>>): string =>
  `<link ${Object.entries(attrs)
    .map(([name, value]) => `${name}="${value}"`)
    .join(' ')}>`;

function fileOf(bundle: Bundle, fits: (file: Bundle[string]) => boolean): string {
  const found = Object.values(bundle).find(fits);
  if (found === undefined) throw new Error('a file of the first load is missing');
  return `/${found.fileName}`;
}

const fontLink = (bundle: Bundle, name: RegExp) => ({
  rel: 'preload',
  as: 'font',
  type: 'font/woff2',
  href: fileOf(bundle, ({ fileName }) => name.test(fileName)),
  crossorigin: '',
});

const scriptLink = (bundle: Bundle, name: string) => ({
  rel: 'modulepreload',
  href: fileOf(bundle, (file) => file.type === 'chunk' && file.name === name),
  crossorigin: '',
});

/**
 * The order counts: over HTTP/1.1 a browser asks for six files at a time, and on a slow network each place is taken for half a second.
 * First the scripts, the largest of which run while the last still arrives; the fonts, whose stand-ins have the same metrics, come last.
 */
const firstLinks = (bundle: Bundle) => [reactFile, start, application, shell].map((name) => scriptLink(bundle, name));
const laterLinks = (bundle: Bundle) => [
  ...[sessionCalls.getUser, sessionCalls.listProjects].map(({ path }) => ({
    rel: 'preload',
    as: 'fetch',
    href: path,
    crossorigin: '',
  })),
  fontLink(bundle, textFont),
  fontLink(bundle, codeFont),
];

const lines = (links: readonly Readonly<Record<string, string>>[]): string => links.map(render).join('\n    ');

const noSession: HtmlTagDescriptor = { tag: 'meta', attrs: { name: 'session', content: 'none' }, injectTo: 'head-prepend' };

const sessionMark = /<meta name="session"[^>]*>/;
const fontPreload = /<link rel="preload" as="font"[^>]*>/;

const emptyRoot = '<div id="root"></div>';

/** Inert until the script replaces it: nobody types into a form that forgets. */
async function withSignIn(page: string): Promise<string> {
  const view = join(import.meta.dirname, 'sign-in-view.tsx');
  const { module } = await runnerImport<typeof import('./sign-in-view.tsx')>(view, { configFile: false, plugins: [react()] });
  return page.replace(emptyRoot, `<div id="root" inert>${module.renderSignIn()}</div>`);
}

export const firstLoad = (): Plugin => ({
  name: 'underpass-first-load',
  apply: 'build',
  transformIndexHtml: {
    order: 'post',
    handler: (_html, { bundle = {} }) => [noSession, { tag: 'link', attrs: fontLink(bundle, textFont), injectTo: 'head' }],
  },
  generateBundle: {
    order: 'post',
    async handler(_options, bundle) {
      const file = bundle['index.html'];
      if (file?.type !== 'asset') throw new Error('index.html is not built yet');
      const page = file.source.toString();
      const applicationLink = render(scriptLink(bundle, application));
      file.source = page.replace(sessionMark, (mark) => `${mark}\n    ${applicationLink}`);
      const signedIn = page.replace(sessionMark, lines(firstLinks(bundle))).replace(fontPreload, lines(laterLinks(bundle)));
      this.emitFile({ type: 'asset', fileName: 'signed-in.html', source: signedIn });
      this.emitFile({ type: 'asset', fileName: 'sign-in.html', source: await withSignIn(page) });
    },
  },
});
