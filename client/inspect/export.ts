// Exchanges for other programs: a curl command, and HAR 1.2. Secrets are left out unless asked for.

import { decodeBody, viewBody } from './body-view.ts';
import { fieldOf, mediaTypeOf, type ReadHead, readHead } from './core/head.ts';
import { isSecretHeader } from './core/secret-header.ts';
import { bytesOf, inspectLimits, type KeptBody, type KeptExchange } from './exchange-log.ts';
import { hostOf, timingOf } from './view.ts';

/** curl makes these itself, or the edge does. */
const madeByOthers =
  /^(host|content-length|transfer-encoding|connection|upgrade|accept-encoding|x-forwarded-(for|proto|host)|forwarded|x-real-ip|via)$/i;

const hidden = 'HIDDEN';

/** Renders a line for a POSIX shell. Null if the body was not kept whole. */
export function renderCurl(exchange: KeptExchange, secrets: boolean): string | null {
  const { request, requestHead } = exchange;
  if (request.keptBytes < request.bytes) return null;
  const head = readHead(requestHead);
  const body = bytesOf(request);
  const text = plainText(body);
  const words = [
    // The path as it is, and no patterns in it.
    'curl --path-as-is --globoff',
    ...methodWords(head.startLine[0], body.length > 0),
    `--url ${quoted(`https://${hostOf(head)}${asciiOf(head.startLine[1])}`)}`,
    ...headerWords(head, secrets),
    ...(fieldOf(head, 'accept-encoding') === undefined ? [] : ['--compressed']),
    // --data-raw gives "@" no meaning: a visitor's body must not name a file to send.
    ...(body.length === 0 ? [] : [text === null ? '--data-binary @-' : `--data-raw ${quoted(text)}`]),
  ];
  const command = words.join(' \\\n  ');
  return text !== null
    ? `${command}\n`
    : `base64 -d <<'END' | ${command}\n${body.toString('base64').replace(/.{76}/g, '$&\n')}\nEND\n`;
}

function methodWords(method: string, hasBody: boolean): readonly string[] {
  if (method === 'HEAD') return ['--head'];
  if (method === (hasBody ? 'POST' : 'GET')) return [];
  return [`--request ${quoted(method)}`];
}

function headerWords(head: ReadHead, secrets: boolean): readonly string[] {
  const lines = head.headers
    .filter(([name]) => !madeByOthers.test(name))
    .map(([name, value]) => [name, secrets || !isSecretHeader(name) ? value : hidden] as const)
    // "Name:" alone would remove the header.
    .map(([name, value]) => `--header ${quoted(value === '' ? `${name};` : `${name}: ${utf8Of(value)}`)}`);
  // Without a type of its own, curl would say that the body is a form.
  return fieldOf(head, 'content-type') === undefined ? [...lines, "--header 'Content-Type:'"] : lines;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Heads are kept byte by byte; a terminal reads UTF-8, and obeys what it holds from U+0080 to U+009F. */
const utf8Of = (latin1: string): string =>
  Buffer.from(latin1, 'latin1')
    .toString('utf8')
    .replace(/[\u0080-\u009f]/g, '\ufffd');

const asciiOf = (target: string): string => target.replace(/[\x80-\xff]/g, (octet) => `%${octet.charCodeAt(0).toString(16)}`);

/** Null if it is no text, or holds characters that a terminal obeys. */
function plainText(body: Buffer): string | null {
  const text = body.toString('utf8');
  return /[\ufffd\u0000-\u0008\u000b-\u001f\u007f-\u009f]/.test(text) ? null : text;
}

/** Room for bodies without their content codings: those that are kept could unpack to a thousand times their size. */
interface Room {
  bytes: number;
}

const leftOut = 'Left out: newer bodies fill the file.';

export async function renderHar(exchanges: readonly KeptExchange[], version: string, secrets: boolean): Promise<unknown> {
  const room: Room = { bytes: inspectLimits.bytes };
  const newestFirst = exchanges.filter(({ requestHead }) => requestHead !== '').reverse();
  const entries: unknown[] = [];
  for (const exchange of newestFirst) entries.push(await harEntry(exchange, secrets, room));
  return { log: { version: '1.2', creator: { name: 'underpass', version }, entries: entries.reverse() } };
}

async function harEntry(exchange: KeptExchange, secrets: boolean, room: Room): Promise<unknown> {
  const head = readHead(exchange.requestHead);
  const answer = exchange.responseHead === '' ? null : readHead(exchange.responseHead);
  const [method, target, version] = head.startLine;
  const url = `https://${hostOf(head)}${target}`;
  const timing = timingOf(exchange);
  return {
    startedDateTime: new Date(exchange.startedAtMs).toISOString(),
    time: Number.isNaN(exchange.endMs) ? 0 : exchange.endMs - exchange.startMs,
    request: {
      ...{
        method,
        url,
        httpVersion: version,
        headers: harHeaders(head, secrets),
        cookies: [],
        headersSize: exchange.requestHead.length,
      },
      queryString: queryOf(target),
      bodySize: exchange.request.bytes,
      ...(exchange.request.bytes === 0 ? {} : { postData: await postDataOf(head, exchange.request, room) }),
    },
    response: {
      status: answer === null ? 0 : Number(answer.startLine[1]),
      statusText: answer?.startLine[2] ?? '',
      httpVersion: answer?.startLine[0] ?? '',
      headers: answer === null ? [] : harHeaders(answer, secrets),
      cookies: [],
      content: await contentOf(answer, exchange.response, room),
      redirectURL: answer === null ? '' : (fieldOf(answer, 'location') ?? ''),
      headersSize: answer === null ? -1 : exchange.responseHead.length,
      bodySize: exchange.response.bytes,
      ...(exchange.error === null ? {} : { comment: `${exchange.error.title} (${exchange.error.code})` }),
    },
    cache: {},
    timings: {
      ...{ blocked: -1, dns: -1, ssl: -1, connect: timing.connectMs ?? -1 },
      ...{ send: timing.sendMs ?? 0, wait: timing.waitMs ?? 0, receive: timing.receiveMs ?? 0 },
    },
    ...(exchange.replayOf === null ? {} : { comment: `replay of ${exchange.replayOf}` }),
  };
}

function harHeaders({ headers }: ReadHead, secrets: boolean): unknown[] {
  return headers.map(([name, value]) => ({ name, value: secrets || !isSecretHeader(name) ? value : hidden }));
}

function queryOf(target: string): unknown[] {
  const at = target.indexOf('?');
  return at === -1 ? [] : [...new URLSearchParams(target.slice(at))].map(([name, value]) => ({ name, value }));
}

async function postDataOf(head: ReadHead, body: KeptBody, room: Room): Promise<unknown> {
  if (room.bytes <= 0) return { mimeType: typeOf(head), text: '', params: [], comment: leftOut };
  const view = await viewBody(head, body);
  const comment = view.isCut ? { comment: 'The end of the body was not kept.' } : {};
  room.bytes -= view.text?.length ?? 0;
  return { mimeType: view.mediaType, text: view.text ?? '', params: [], ...comment };
}

async function contentOf(head: ReadHead | null, body: KeptBody, room: Room): Promise<unknown> {
  if (room.bytes <= 0 && body.bytes > 0) return { size: body.bytes, mimeType: typeOf(head), comment: leftOut };
  const view = await viewBody(head, body);
  const { bytes } = await decodeBody(head, body);
  room.bytes -= bytes.length;
  const text = view.text === null ? { text: bytes.toString('base64'), encoding: 'base64' } : { text: view.text };
  const comment = view.isCut ? { comment: 'The end of the body was not kept.' } : {};
  return { size: bytes.length, mimeType: view.mediaType, ...(body.bytes === 0 ? {} : text), ...comment };
}

const typeOf = (head: ReadHead | null): string => mediaTypeOf(head === null ? undefined : fieldOf(head, 'content-type'));
