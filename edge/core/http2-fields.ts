// Translates heads between HTTP/2 and HTTP/1.1. A request becomes text for the strict HTTP/1.1 parser, so one set of rules
// decides; a response becomes a list of names and values. RFC 9113 sections 8.2 and 8.3.

import { canonicalAuthority } from '@underpass/wire/http/authority.ts';
import { plainName, plainValue } from '@underpass/wire/http/chunk.ts';
import { nextLine } from '@underpass/wire/http/head-scan.ts';
import { colonSign } from '@underpass/wire/http/octets.ts';
import type { ResponseHead } from '@underpass/wire/http/response-head.ts';

/** RFC 9113 8.2.2: a message with one of these is malformed. */
const connectionFields = new Set(['connection', 'proxy-connection', 'keep-alive', 'transfer-encoding', 'upgrade']);

/** The HTTP/1.1 head, or null if the request is malformed. `bodied` without a length becomes chunked. */
export function renderHttp1Head(fields: readonly string[], bodied: boolean): string | null {
  const pseudo = new Map<string, string>();
  const lines: string[] = [];
  const cookies: string[] = [];
  let host: string | null = null;
  let hasLength = false;
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    const value = fields[i + 1] as string;
    if (!plainValue.test(value) || connectionFields.has(name)) return null;
    if (name.startsWith(':')) {
      if (pseudo.has(name)) return null;
      pseudo.set(name, value);
    } else if (!plainName.test(name)) return null;
    else if (name === 'cookie') cookies.push(value);
    else if (name === 'host') {
      if (host !== null) return null;
      host = value;
    } else {
      hasLength ||= name === 'content-length';
      lines.push(`${name}: ${value}\r\n`);
    }
  }
  const start = startLine(pseudo, host);
  if (start === null) return null;
  // RFC 9113 8.2.3: HTTP/1.1 takes cookies in one field.
  if (cookies.length > 0) lines.push(`cookie: ${cookies.join('; ')}\r\n`);
  if (bodied && !hasLength) lines.push('transfer-encoding: chunked\r\n');
  return `${start}${lines.join('')}\r\n`;
}

/** The first value of a field; undefined without one. */
export function fieldOf(fields: readonly string[], name: string): string | undefined {
  const at = fields.findIndex((text, index) => index % 2 === 0 && text === name);
  return at < 0 ? undefined : fields[at + 1];
}

/** RFC 9113 8.3.1: if both ":authority" and Host are present, they must agree. */
function startLine(pseudo: ReadonlyMap<string, string>, host: string | null): string | null {
  const [method, authority] = [pseudo.get(':method'), pseudo.get(':authority') ?? host];
  // CONNECT has no path (RFC 9113 8.5). Any target will do: the parser refuses the method.
  const path = pseudo.get(':path') ?? (method === 'CONNECT' ? '*' : undefined);
  if (method === undefined || path === undefined || authority === null || pseudo.has(':protocol')) return null;
  if (host !== null && canonicalAuthority(host.toLowerCase()) !== canonicalAuthority(authority.toLowerCase())) return null;
  return `${method} ${path} HTTP/1.1\r\nhost: ${authority}\r\n`;
}

/** Names and values of a response head for HTTP/2, without framing and hop-by-hop fields. */
export function responseFields(head: ResponseHead, bytes: Buffer, end: number): string[] {
  const fields = [':status', String(head.status)];
  let drop = 0;
  for (let line = bytes.indexOf(10, head.versionEnd) + 1; line < end - 2; ) {
    const after = nextLine(bytes, line);
    if (drop < head.dropCount && head.drops[2 * drop] === line) drop++;
    else pushField(fields, head, bytes, line, after - 2);
    line = after;
  }
  return fields;
}

function pushField(fields: string[], head: ResponseHead, bytes: Buffer, line: number, end: number): void {
  const colon = bytes.indexOf(colonSign, line);
  const name = bytes.toString('latin1', line, colon).toLowerCase();
  // An interim response has no Content-Length, not even 0 (RFC 9110 8.6): HTTP/2 visitors reset the stream for one.
  if (head.interim && name === 'content-length') return;
  // TE is a request field (RFC 9110 10.1.4).
  if (!connectionFields.has(name) && name !== 'te') fields.push(name, bytes.toString('latin1', colon + 1, end).trim());
}
