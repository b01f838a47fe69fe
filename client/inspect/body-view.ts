// A kept body as people read it: without its content codings, as JSON, form, text or image. Only on request, within bounds.

import { promisify } from 'node:util';
import {
  type BrotliOptions,
  brotliDecompress,
  gunzip,
  inflate,
  inflateRaw,
  type ZlibOptions,
  constants as zlib,
  zstdDecompress,
} from 'node:zlib';
import type { BodyShape, BodyView, FormField } from '@underpass/rules/inspect/exchange.ts';
import { fieldOf, mediaTypeOf, parameterOf, type ReadHead } from './core/head.ts';
import { bytesOf, type KeptBody } from './exchange-log.ts';
import { readMultipart } from './multipart.ts';

/** A bomb ends here: 1 MiB of gzip can hold 1 GiB. Text this long is more than a page shows. */
const maxDecodedBytes = 4 * 1024 * 1024;
/** Senders use one coding, rarely two. Each is a chance for a bomb. */
const maxCodings = 3;
const maxFields = 500;

/** Decodes in a thread of its own: 4 MiB take 20 ms, in which the process that carries the tunnels would do nothing else. */
type Decode = (bytes: Buffer) => Promise<Buffer>;

const decode = {
  gzip: promisify(gunzip),
  inflate: promisify(inflate),
  inflateRaw: promisify(inflateRaw),
  brotli: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
};

const bounded = { maxOutputLength: maxDecodedBytes, finishFlush: zlib.Z_SYNC_FLUSH } satisfies ZlibOptions;
const boundedBrotli = { maxOutputLength: maxDecodedBytes, finishFlush: zlib.BROTLI_OPERATION_FLUSH } satisfies BrotliOptions;

/** The flush modes accept a body whose end is missing. */
const decoders: Readonly<Record<string, Decode>> = {
  gzip: (bytes) => decode.gzip(bytes, bounded),
  'x-gzip': (bytes) => decode.gzip(bytes, bounded),
  // Some servers send raw deflate (RFC 9110 8.4.1.2); zlib begins with its own header.
  deflate: (bytes) => ((bytes[0]! & 0x0f) === 8 ? decode.inflate(bytes, bounded) : decode.inflateRaw(bytes, bounded)),
  br: (bytes) => decode.brotli(bytes, boundedBrotli),
  zstd: (bytes) => decode.zstd(bytes, { maxOutputLength: maxDecodedBytes, finishFlush: zlib.ZSTD_e_flush }),
};

interface DecodedBody {
  readonly bytes: Buffer;
  readonly decoded: readonly string[];
  /** Why `bytes` still has a coding; empty if it has none. */
  readonly problem: string;
}

export async function decodeBody(head: ReadHead | null, body: KeptBody): Promise<DecodedBody> {
  const kept = bytesOf(body);
  const codings = (head === null ? '' : (fieldOf(head, 'content-encoding') ?? ''))
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity');
  if (codings.length === 0 || kept.length === 0) return { bytes: kept, decoded: [], problem: '' };
  if (codings.length > maxCodings)
    return { bytes: kept, decoded: [], problem: `It has ${codings.length} content codings; ${maxCodings} are read.` };
  return removeCodings(kept, codings.reverse());
}

async function removeCodings(kept: Buffer, codings: readonly string[]): Promise<DecodedBody> {
  let bytes = kept;
  for (const coding of codings) {
    const remove = Object.hasOwn(decoders, coding) ? decoders[coding] : undefined;
    if (remove === undefined) return { bytes: kept, decoded: [], problem: `The content coding '${coding}' is unknown.` };
    try {
      bytes = await remove(bytes);
    } catch (error) {
      const isTooLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
      const why = isTooLarge ? `it is larger than ${maxDecodedBytes / 1024 / 1024} MiB` : 'it is damaged or its start is cut';
      return { bytes: kept, decoded: [], problem: `The content coding '${coding}' was not removed: ${why}.` };
    }
  }
  return { bytes, decoded: codings, problem: '' };
}

export async function viewBody(head: ReadHead | null, body: KeptBody): Promise<BodyView> {
  const contentType = head === null ? '' : (fieldOf(head, 'content-type') ?? '');
  const mediaType = mediaTypeOf(contentType);
  const isCut = body.keptBytes < body.bytes;
  const { bytes, decoded, problem } = await decodeBody(head, body);
  const base = { mediaType, bytes: body.bytes, isCut, decoded, problem, text: null, fields: [] } as const;
  if (body.bytes === 0) return { ...base, shape: 'none' };
  if (problem !== '') return { ...base, shape: 'binary' };
  const shape = shapeOf(mediaType, bytes);
  if (shape === 'multipart') return { ...base, shape, fields: readMultipart(bytes, parameterOf(contentType, 'boundary') ?? '') };
  if (shape === 'binary' || shape === 'image') return { ...base, shape };
  const text = decodeText(bytes, parameterOf(contentType, 'charset'));
  return { ...base, shape, text, fields: shape === 'form' ? readForm(text) : [] };
}

/** SVG is text: as an image it could run a script. */
const imageTypes = /^image\/(png|jpeg|gif|webp|avif|bmp|x-icon|vnd\.microsoft\.icon)$/;
const textTypes =
  /^(text\/|image\/svg\+xml$|application\/(javascript|ecmascript|xml|xhtml\+xml|graphql|yaml|x-yaml|x-ndjson|sql|toml)$|[^/]+\/[^/]+\+(xml|yaml)$)/;

function shapeOf(mediaType: string, bytes: Buffer): BodyShape {
  if (/[/+]json$/.test(mediaType)) return 'json';
  if (mediaType === 'application/x-www-form-urlencoded') return 'form';
  if (mediaType === 'multipart/form-data') return 'multipart';
  if (imageTypes.test(mediaType)) return 'image';
  if (textTypes.test(mediaType)) return 'text';
  return looksLikeText(bytes) ? 'text' : 'binary';
}

/** Bodies without a type, or with the type for everything. */
function looksLikeText(bytes: Buffer): boolean {
  const start = bytes.subarray(0, 1024);
  if (start.length === 0 || start.includes(0)) return false;
  // The last character may be cut.
  const text = start.toString('utf8').slice(0, -1);
  return !/[\ufffd\u0001-\u0008\u000e-\u001a\u001c-\u001f]/.test(text);
}

function decodeText(bytes: Buffer, charset = 'utf-8'): string {
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

function readForm(text: string): FormField[] {
  return [...new URLSearchParams(text)].slice(0, maxFields).map(([name, value]) => {
    return { name, value, fileName: null, mediaType: '', bytes: Buffer.byteLength(value) };
  });
}
