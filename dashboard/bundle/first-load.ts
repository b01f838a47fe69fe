// Names in the page all that its first load needs, so that a browser asks for everything at once and not for one file after another.
// A browser with a session cookie gets signed-in.html. Without one it gets index.html, or sign-in.html, which shows the form before
// any script has come (control/site/site.ts chooses).
import { join } from 'node:path';
import { sessionCalls } from '@underpass/rules/api/session-calls.ts';
import react from '@vitejs/plugin-react';
import { type HtmlTagDescriptor, type Plugin, type Rolldown, runnerImport } from 'vite';
import { application, shell } from './chunks.ts';

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

const signedInLinks = (bundle: Bundle) => [
  scriptLink(bundle, shell),
  fontLink(bundle, codeFont),
  ...[sessionCalls.getUser, sessionCalls.listProjects].map(({ path }) => ({
    rel: 'preload',
    as: 'fetch',
    href: path,
    crossorigin: '',
  })),
];

const noSession: HtmlTagDescriptor = { tag: 'meta', attrs: { name: 'session', content: 'none' }, injectTo: 'head-prepend' };

const sessionMark = /<meta name="session"[^>]*>/;

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
      const links = [applicationLink, ...signedInLinks(bundle).map(render)].join('\n    ');
      this.emitFile({ type: 'asset', fileName: 'signed-in.html', source: page.replace(sessionMark, links) });
      this.emitFile({ type: 'asset', fileName: 'sign-in.html', source: await withSignIn(page) });
    },
  },
});
