// `underpass serve`: the files of a folder over HTTP, for this machine and the tunnel. A request reaches a file only by plain
// names inside the folder, and the file's real place must be inside it too. `send` answers ranges and conditions.

import { once } from 'node:events';
import { opendir, realpath, stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, relative, sep } from 'node:path';
import { escapeHtml } from '@underpass/rules/text/escape-html.ts';
import send from 'send';
import { ClientError, fileReason } from '../process/error.ts';
import { parseFilePath } from './file-path.ts';

interface FileServerOptions {
  readonly folder: string;
  /** Shows the names in a folder that has no index.html. */
  readonly list: boolean;
  readonly isWindows: boolean;
}

export interface FileServer {
  readonly port: number;
  readonly close: () => void;
}

const maxConnections = 512;
const requestTimeoutMs = 30_000;
/** Names on one page; further ones are left out. */
const maxListed = 2_000;
const index = 'index.html';

export async function startFileServer({ folder, list, isWindows }: FileServerOptions): Promise<FileServer> {
  const root = await rootOf(folder);
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.setHeader('x-content-type-options', 'nosniff');
    if (!isOwnHost(request.headers.host, server)) return refuse(response, 421, 'Another host');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      return refuse(response, 405, 'Method not allowed');
    }
    const target = request.url ?? '';
    const names = parseFilePath(target, isWindows);
    const found = names === null ? undefined : await find(root, names, isWindows);
    const [path = '', query] = target.split('?');
    const endsInSlash = path.endsWith('/');
    if (names === null || found === undefined) return refuse(response, 404, 'Not found');
    if (!found.isFolder && endsInSlash) return refuse(response, 404, 'Not found');
    if (!found.isFolder) return sendFile(request, response, root, found.place);
    // A relative address: it stays on this host whatever the path is.
    if (!endsInSlash)
      return redirect(response, `./${encodeURIComponent(names.at(-1) ?? '')}/${query === undefined ? '' : `?${query}`}`);
    const page = await find(root, [...names, index], isWindows);
    if (page !== undefined && !page.isFolder) return sendFile(request, response, root, page.place);
    return list ? sendList(response, found.place, names, isWindows) : refuse(response, 404, 'Not found');
  };
  const server = createServer({ requestTimeout: requestTimeoutMs, headersTimeout: requestTimeoutMs }, (request, response) => {
    answer(request, response).catch(() => (response.headersSent ? response.destroy() : refuse(response, 500, 'Not readable')));
  });
  server.maxConnections = maxConnections;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { port: (server.address() as AddressInfo).port, close };
}

/** A page of another site cannot read the files past the tunnel by a name that leads to this machine (DNS rebinding). */
function isOwnHost(host: string | undefined, server: Server): boolean {
  const { port } = server.address() as AddressInfo;
  return host === `localhost:${port}` || host === `127.0.0.1:${port}`;
}

async function rootOf(folder: string): Promise<string> {
  try {
    const root = await realpath(folder);
    if ((await stat(root)).isDirectory()) return root;
  } catch (cause) {
    throw new ClientError('folder-unusable', `${folder} (${fileReason(cause)})`, { cause });
  }
  throw new ClientError('folder-unusable', `${folder} (it is no folder)`);
}

interface Found {
  /** Real place: no symbolic links on the way. */
  readonly place: string;
  readonly isFolder: boolean;
}

/** Follows symbolic links, and checks where they lead: inside the folder, to no dotfile, to a file or folder and no device. */
async function find(root: string, names: readonly string[], isWindows: boolean): Promise<Found | undefined> {
  try {
    const place = await realpath(join(root, ...names));
    const inside = place === root ? [] : relative(root, place).split(sep);
    const isInside = place === root || place.startsWith(root.endsWith(sep) ? root : root + sep);
    const target = `/${inside.map(encodeURIComponent).join('/')}`;
    if (!isInside || parseFilePath(target, isWindows) === null) return undefined;
    const about = await stat(place);
    return about.isDirectory() || about.isFile() ? { place, isFolder: about.isDirectory() } : undefined;
  } catch {
    return undefined;
  }
}

function sendFile(request: IncomingMessage, response: ServerResponse, root: string, place: string): void {
  const path = relative(root, place).split(sep).map(encodeURIComponent).join('/');
  // Browsers ask again each time: the files change while somebody works on them.
  response.setHeader('cache-control', 'no-cache');
  send(request, `/${path}`, { root, dotfiles: 'ignore', index: false, cacheControl: false })
    .on('directory', () => refuse(response, 404, 'Not found'))
    .on('error', (error: { readonly status?: number }) => {
      if (error.status === 416 || error.status === 412) return refuse(response, error.status, 'Not satisfiable');
      refuse(response, 404, 'Not found');
    })
    .pipe(response);
}

async function sendList(response: ServerResponse, place: string, names: readonly string[], isWindows: boolean): Promise<void> {
  const entries: string[] = [];
  for await (const entry of await opendir(place)) {
    if (entries.length === maxListed) break;
    const path = encodeURIComponent(entry.name);
    if (parseFilePath(`/${path}`, isWindows) !== null) entries.push(entry.isDirectory() ? `${entry.name}/` : entry.name);
  }
  const up = names.length === 0 ? [] : ['../'];
  response.setHeader('content-security-policy', "default-src 'none'");
  response.setHeader('cache-control', 'no-cache');
  answerWith(response, 200, 'text/html; charset=utf-8', renderList(names, [...up, ...entries.toSorted()]));
}

export function renderList(names: readonly string[], entries: readonly string[]): string {
  const title = escapeHtml(`/${names.join('/')}`);
  const items = entries.map((entry) => {
    const isFolder = entry.endsWith('/');
    const href = entry === '../' ? entry : `./${encodeURIComponent(isFolder ? entry.slice(0, -1) : entry)}${isFolder ? '/' : ''}`;
    return `<li><a href="${escapeHtml(href)}">${escapeHtml(entry)}</a></li>`;
  });
  return `<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n<title>${title}</title>\n<h1>${title}</h1>\n<ul>\n${items.join('\n')}\n</ul>\n`;
}

function redirect(response: ServerResponse, location: string): void {
  response.setHeader('location', location);
  answerWith(response, 301, 'text/plain; charset=utf-8', 'Moved\n');
}

function refuse(response: ServerResponse, status: number, text: string): void {
  answerWith(response, status, 'text/plain; charset=utf-8', `${text}\n`);
}

/** Node leaves the body out of the answer to HEAD. */
function answerWith(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}
