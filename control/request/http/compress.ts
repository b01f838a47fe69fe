// Compresses answers on their way. Only those that hold no secret: the length of a compressed answer says whether a secret in it
// resembles text beside it, which an attacker may have chosen (BREACH). `compress` in the table of calls marks them.

import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const brotli = promisify(brotliCompress);

// Brotli's default, level 11, takes 70 times as long as level 4 and saves another tenth: 11 ms for a page of the audit log.
const codings = [
  ['br', (bytes: Buffer): Promise<Buffer> => brotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } })],
  ['gzip', promisify<Buffer, Buffer>(gzip)],
] as const;

/** `br;q=0` refuses brotli (RFC 9110 12.5.3). */
export const acceptsCoding = (accepted: string, coding: string): boolean =>
  accepted.split(',').some((each) => {
    const [name = '', quality = ''] = each.split(';');
    return name.trim().toLowerCase() === coding && !/^\s*q=0(\.0*)?\s*$/i.test(quality);
  });

/** A shorter answer fits into one packet with its head. */
const leastBytes = 1000;

function codingFor({ headers }: Request, bytes: Buffer) {
  const accepted = headers.get('accept-encoding') ?? '';
  return bytes.length < leastBytes ? undefined : codings.find(([name]) => acceptsCoding(accepted, name));
}

/** `answer` is complete: it is read into memory here. */
export async function compressed(request: Request, answer: Response): Promise<Response> {
  const headers = new Headers(answer.headers);
  headers.append('vary', 'accept-encoding');
  const bytes = Buffer.from(await answer.arrayBuffer());
  const coding = codingFor(request, bytes);
  if (coding === undefined) return new Response(bytes, { status: answer.status, headers });
  const [name, encode] = coding;
  headers.set('content-encoding', name);
  return new Response(await encode(bytes), { status: answer.status, headers });
}

/** Answers with the same JSON each time. Strangers may ask without end, so it is rendered once, and compressed once for each coding. */
export function createFixedJson(value: unknown): (request: Request) => Promise<Response> {
  const bytes = Buffer.from(JSON.stringify(value));
  const kept = new Map<string, Promise<Buffer>>();
  return async (request) => {
    const headers = new Headers({ 'content-type': 'application/json', vary: 'accept-encoding' });
    const coding = codingFor(request, bytes);
    if (coding === undefined) return new Response(bytes, { headers });
    const [name, encode] = coding;
    const encoded = kept.get(name) ?? encode(bytes);
    kept.set(name, encoded);
    headers.set('content-encoding', name);
    return new Response(await encoded, { headers });
  };
}
