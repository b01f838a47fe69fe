// Serves files of one folder: the built dashboard with its fallback page, and the released downloads. The server's own
// `serveStatic` has no entity tags, looks each file up while everything else waits, and serves dot files.

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { acceptsCoding } from '../request/http/compress.ts';
import { decideDelivery } from './conditional.ts';

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  ico: 'image/x-icon',
  json: 'application/json',
  webmanifest: 'application/manifest+json',
  woff2: 'font/woff2',
  txt: 'text/plain; charset=utf-8',
  sha256: 'text/plain; charset=utf-8',
  sig: 'text/plain; charset=utf-8',
};

const encodings = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

// Vite puts a hash of the content into these names, so such a file never changes.
const immutablePattern = /-[A-Za-z0-9_-]{8,}\.[a-z0-9]+$/;

/** Allows plain names only: no dot files, no `..`, no characters that a file system treats specially. */
const isPlainPath = (path: string): boolean =>
  path.length <= 512 && path.split('/').every((name) => /^[A-Za-z0-9_@+-][A-Za-z0-9_.@+-]*$/.test(name) && !name.includes('..'));

interface Found {
  readonly path: string;
  readonly size: number;
  readonly etag: string;
}

async function findFile(path: string): Promise<Found | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile()
    ? { path, size: found.size, etag: `"${found.size.toString(36)}-${Math.trunc(found.mtimeMs).toString(36)}"` }
    : undefined;
}

/** The smallest compressed form that the build left beside the file and the browser accepts. */
async function findEncoded(path: string, accepted: string): Promise<{ file: Found; encoding: string } | undefined> {
  for (const [encoding, suffix] of encodings) {
    if (!acceptsCoding(accepted, encoding)) continue;
    const file = await findFile(path + suffix);
    if (file) return { file, encoding };
  }
  return undefined;
}

const streamOf = (path: string, start: number, end: number): ReadableStream =>
  Readable.toWeb(createReadStream(path, { start, end })) as ReadableStream;

/** Sends the file, the requested part of it, or 304. */
function deliver(request: Request, { path, size, etag }: Found, headers: Headers): Response {
  const delivery = decideDelivery(request.method, request.headers, { size, etag });
  if (delivery.kind === 'unchanged') return new Response(null, { status: 304, headers });
  if (delivery.kind === 'unsatisfiable') {
    headers.set('content-range', `bytes */${size}`);
    headers.delete('content-encoding');
    return new Response(null, { status: 416, headers });
  }
  const { start, end } = delivery.kind === 'part' ? delivery : { start: 0, end: size - 1 };
  if (delivery.kind === 'part') headers.set('content-range', `bytes ${start}-${end}/${size}`);
  headers.set('content-length', String(end - start + 1));
  const body = request.method === 'HEAD' || size === 0 ? null : streamOf(path, start, end);
  return new Response(body, { status: delivery.kind === 'part' ? 206 : 200, headers });
}

async function answer(request: Request, plain: Found, cacheControl: string): Promise<Response> {
  const type = types[plain.path.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
  const encoded = await findEncoded(plain.path, request.headers.get('accept-encoding') ?? '');
  const file = encoded?.file ?? plain;
  const headers = new Headers({ 'content-type': type, etag: file.etag, 'cache-control': cacheControl, vary: 'accept-encoding' });
  headers.set('accept-ranges', 'bytes');
  if (encoded) headers.set('content-encoding', encoded.encoding);
  return deliver(request, file, headers);
}

export interface FileFolder {
  /** `path` has no leading slash. Undefined if there is no such file. */
  serve(request: Request, path: string): Promise<Response | undefined>;
}

export const createFileFolder = (folder: string | undefined): FileFolder => ({
  serve: async (request, path) => {
    if (folder === undefined || !isPlainPath(path)) return undefined;
    const file = await findFile(join(folder, path));
    return file && answer(request, file, immutablePattern.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache');
  },
});
