// Names in the page all that its first load needs, so that a browser asks for everything at once and not for one file after another.
// A browser with a session cookie gets signed-in.html, or the one of its screen, which names that screen's file, too. Without one it
// gets index.html, or sign-in.html, which shows the form before any script has come (control/site/site.ts chooses).
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

const lines = (tags: readonly string[]): string => tags.join('\n    ');

const noSession: HtmlTagDescriptor = { tag: 'meta', attrs: { name: 'session', content: 'none' }, injectTo: 'head-prepend' };

const sessionMark = /<meta name="session"[^>]*>\s*/;
const earlyTag = /<script src="[^"]*early-[^"]*"><\/script>/;
const fontPreload = /<link rel="preload" as="font"[^>]*>/;

const emptyRoot = '<div id="root"></div>';

/** What the page shows before any script has come. */
async function renderViews(): Promise<typeof import('./first-view.tsx')> {
  const views = join(import.meta.dirname, 'first-view.tsx');
  const { module } = await runnerImport<typeof import('./first-view.tsx')>(views, { configFile: false, plugins: [react()] });
  return module;
}

/** A sign-in is inert until the script replaces it: nobody types into a form that forgets. */
const withView = (page: string, view: string, state = ''): string =>
  page.replace(emptyRoot, `<div id="root"${state}>${view}</div>`);

/** The screens whose files the page names, too, by the name that rules/api/first-call.ts gives them. */
const screens = {
  dashboard: 'pages/dashboard/dashboard.tsx',
  tunnels: 'pages/tunnels/tunnels.tsx',
  'tunnels.one': 'pages/tunnel/tunnel.tsx',
  domains: 'pages/domains/domains.tsx',
  'domains.one': 'pages/domains/domain.tsx',
  'security-groups': 'pages/security-groups/security-groups.tsx',
  'security-groups.one': 'pages/security-groups/security-group.tsx',
  access: 'pages/access/policies.tsx',
  alerts: 'pages/alerts/alerts.tsx',
  members: 'pages/project/members.tsx',
  tokens: 'pages/project/tokens.tsx',
  audit: 'pages/project/audit.tsx',
  usage: 'pages/project/usage.tsx',
  settings: 'pages/project/settings.tsx',
} as const;

/** A part of the screen that shows after the rest, by the screen's name. */
const laterParts: Readonly<Record<string, string>> = { 'tunnels.one': 'pages/tunnel/connect.tsx' };

/** The screen's own files, which the shell's do not import. */
function screenLinks(bundle: Bundle, module: string, known: readonly { readonly href: string }[]) {
  const id = join(import.meta.dirname, '..', module);
  const file = Object.values(bundle).find((each) => each.type === 'chunk' && each.moduleIds.includes(id));
  if (file?.type !== 'chunk') throw new Error(`${module} has no file`);
  return [file.fileName, ...file.imports]
    .map((name) => ({ rel: 'modulepreload', href: `/${name}`, crossorigin: '' }))
    .filter(({ href }) => known.every((link) => link.href !== href));
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
      const views = await renderViews();
      const applicationLink = render(scriptLink(bundle, application));
      file.source = withView(
        page.replace(sessionMark, (mark) => lines([mark.trim(), applicationLink, ''])),
        views.renderFirstLoad(),
      );
      const emit = (fileName: string, source: string) => this.emitFile({ type: 'asset', fileName, source });
      emit('sign-in.html', withView(page, views.renderSignIn(), ' inert'));
      const links = firstLinks(bundle);
      const withLinks = (more: ReturnType<typeof screenLinks>, last: ReturnType<typeof screenLinks> = []) =>
        withView(
          page
            .replace(sessionMark, '')
            .replace(earlyTag, (tag) => lines([tag, ...[...links, ...more].map(render)]))
            .replace(fontPreload, lines([...laterLinks(bundle), ...last].map(render))),
          views.renderFirstFrame(),
        );
      emit('signed-in.html', withLinks([]));
      for (const [name, module] of Object.entries(screens)) {
        const own = screenLinks(bundle, module, links);
        const later = laterParts[name];
        const last = later === undefined ? [] : screenLinks(bundle, later, [...links, ...own]);
        emit(`signed-in.${name}.html`, withLinks(own, last));
      }
    },
  },
});
