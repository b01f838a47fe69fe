// Names in the page all that its first load needs, so that a browser asks for everything at once and not for one file after another.
// A browser with a session cookie gets signed-in.html, and one without gets index.html (control/site/site.ts).
import { sessionCalls } from '@underpass/rules/api/session-calls.ts';
import type { HtmlTagDescriptor, Plugin, Rolldown } from 'vite';
import { SHELL } from './chunks.ts';

const textFont = /overpass-basic.*\.woff2$/;
const codeFont = /overpass-mono-basic.*\.woff2$/;

type Bundle = Rolldown.OutputBundle;

const render = (attrs: Readonly<Record<string, string>>): string =>
  `<link ${Object.entries(attrs)
    .map(([name, value]) => `${name}="${value}"`)
    .join(' ')}>`;

const fileOf = (bundle: Bundle, fits: (file: Bundle[string]) => boolean): string => {
  const found = Object.values(bundle).find(fits);
  if (found === undefined) throw new Error('a file of the first load is missing');
  return `/${found.fileName}`;
};

const fontLink = (bundle: Bundle, name: RegExp) => ({
  rel: 'preload',
  as: 'font',
  type: 'font/woff2',
  href: fileOf(bundle, ({ fileName }) => name.test(fileName)),
  crossorigin: '',
});

const signedInLinks = (bundle: Bundle) => [
  {
    rel: 'modulepreload',
    href: fileOf(bundle, (file) => file.type === 'chunk' && file.name === SHELL),
    crossorigin: '',
  },
  fontLink(bundle, codeFont),
  ...[sessionCalls.getUser, sessionCalls.listProjects].map(({ path }) => ({
    rel: 'preload',
    as: 'fetch',
    href: path,
    crossorigin: '',
  })),
];

const noSession: HtmlTagDescriptor = { tag: 'meta', attrs: { name: 'session', content: 'none' }, injectTo: 'head' };

export const firstLoad = (): Plugin => ({
  name: 'underpass-first-load',
  apply: 'build',
  transformIndexHtml: {
    order: 'post',
    handler: (_html, { bundle = {} }) => [noSession, { tag: 'link', attrs: fontLink(bundle, textFont), injectTo: 'head' }],
  },
  generateBundle: {
    order: 'post',
    handler(_options, bundle) {
      const page = bundle['index.html'];
      if (page?.type !== 'asset') throw new Error('index.html is not built yet');
      const links = signedInLinks(bundle).map(render).join('\n    ');
      const source = page.source.toString().replace(/<meta name="session"[^>]*>/, links);
      this.emitFile({ type: 'asset', fileName: 'signed-in.html', source });
    },
  },
});
