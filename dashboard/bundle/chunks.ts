// Decides which file the code of a module goes to. On a slow network, each further file costs a first load more than its bytes.
import { join } from 'node:path';

/** What the bundler knows about a module. */
interface ModuleGraph {
  getModuleInfo(id: string): { readonly importedIds: readonly string[] } | null;
}

export const react = 'react';
export const start = 'start';
export const application = 'application';
export const shell = 'shell';
const overlay = 'overlay';

const reactModules = /node_modules\/(react|react-dom|scheduler)\/|rolldown\/runtime/;

/** One file for three pages that belong together: the start of the application names every file. */
const accessPages = /dashboard\/pages\/access\//;

/** The sign-in, which must show at once. Every screen needs most of it. */
const startEntries = ['main.tsx', 'form/text-field.tsx'];

/** The router, and what every screen beyond the first sign-in needs. */
const applicationEntries = ['application.tsx', 'shell/public-layout.tsx', 'pages/login.tsx', 'ui/button-link.tsx'];

/** The frame of the signed-in screens. */
const shellEntries = ['shell/project-shell.tsx'];

/** The screens that people open most, by the file of their own. What several of them need is in the shell's file. */
const screenEntries = {
  home: ['pages/dashboard/dashboard.tsx'],
  lists: ['pages/tunnels/tunnels.tsx', 'pages/domains/domains.tsx', 'pages/security-groups/security-groups.tsx'],
  tunnel: ['pages/tunnel/tunnel.tsx'],
};

/** The part of a tunnel's page that shows after the rest. What it shares with the overlays is here, so that it does not wait for them. */
const connectEntries = ['pages/tunnel/connect.tsx'];

/** What opens over a page: menus, dialogs, panels and toasts. It loads after the first page has shown (code/load-later.ts). */
const overlayEntries = [
  'ui/overlay/menu-frame.tsx',
  'ui/overlay/dialog-frame.tsx',
  'ui/overlay/side-panel-frame.tsx',
  'ui/overlay/toast-list.tsx',
  'pages/tunnels/new-tunnel-panel.tsx',
  'pages/tunnel/update-tunnel-panel.tsx',
  'pages/tunnel/rotate-token-dialog.tsx',
  'pages/tunnel/delete-tunnel-dialog.tsx',
  'pages/domains/add-domain-dialog.tsx',
  'pages/security-groups/new-security-group-panel.tsx',
  'shell/proof-question.tsx',
];

function addWithImports(id: string, graph: ModuleGraph, found: Set<string>): void {
  if (found.has(id)) return;
  found.add(id);
  for (const imported of graph.getModuleInfo(id)?.importedIds ?? []) addWithImports(imported, graph, found);
}

/** Finds the modules of `entries` and everything that they import. */
function findModules(entries: readonly string[], graph: ModuleGraph): ReadonlySet<string> {
  const found = new Set<string>();
  for (const entry of entries) addWithImports(join(import.meta.dirname, '..', entry), graph, found);
  return found;
}

/** Names the file for these modules. */
function chunkOf(name: string, entries: readonly string[]) {
  let modules: ReadonlySet<string> | undefined;
  return (id: string, graph: ModuleGraph): string | null => {
    modules ??= findModules(entries, graph);
    return modules.has(id) ? name : null;
  };
}

/** Names the shell's file for what its frame or several of the screens need. */
function shellChunk() {
  let screens: readonly ReadonlySet<string>[] | undefined;
  const frame = chunkOf(shell, shellEntries);
  return (id: string, graph: ModuleGraph): string | null => {
    screens ??= Object.values(screenEntries).map((entries) => findModules(entries, graph));
    return screens.filter((modules) => modules.has(id)).length > 1 ? shell : frame(id, graph);
  };
}

/** Files whose code runs as soon as it is there, or should be ready when somebody opens what is in it (compiled-ahead.ts). */
export const readyFiles: ReadonlySet<string> = new Set([
  ...[react, start, application, shell, ...Object.keys(screenEntries), 'connect', overlay, 'command-palette'],
]);

/** The first group that names a module gets it. The bundler decides about all other modules. */
export const chunkGroups = [
  { name: react, test: reactModules, priority: 4 },
  { name: chunkOf(start, startEntries), debugName: start, priority: 3 },
  { name: chunkOf(application, applicationEntries), debugName: application, priority: 2 },
  { name: shellChunk(), debugName: shell, priority: 1 },
  ...Object.entries(screenEntries).map(([name, entries]) => ({ name: chunkOf(name, entries), debugName: name, priority: 0.8 })),
  { name: chunkOf('connect', connectEntries), debugName: 'connect', priority: 0.7 },
  { name: chunkOf(overlay, overlayEntries), debugName: overlay, priority: 0.5 },
  { name: 'access', test: accessPages },
];
