// Parses the text of one setting. Each parser returns the value or the problem, and never throws.

import { isIP } from 'node:net';
import { type PortRange, parsePortRange } from '@underpass/rules/tunnel/port-range.ts';

export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };
export type ParseValue<T> = (text: string) => Parsed<T>;

const good = <T>(value: T): Parsed<T> => ({ ok: true, value });
const bad = (problem: string): Parsed<never> => ({ ok: false, problem });

export const parseText =
  (maxLength: number): ParseValue<string> =>
  (text) =>
    text.length <= maxLength ? good(text) : bad(`must be at most ${maxLength} characters, has ${text.length}`);

export const parseWhole =
  (min: number, max: number): ParseValue<number> =>
  (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? good(value) : bad(`must be a whole number from ${min} to ${max}, is "${text}"`);
  };

/** 0 lets the system choose a free port. */
export const parsePort = parseWhole(0, 65535);

export const parsePorts: ParseValue<PortRange> = (text) => {
  const parsed = parsePortRange(text);
  return parsed.ok ? parsed : bad(`is refused: ${parsed.message}`);
};

export const parseOneOf =
  <const T extends string>(...choices: readonly T[]): ParseValue<T> =>
  (text) => {
    const choice = choices.find((each) => each === text);
    return choice === undefined ? bad(`must be one of ${choices.join(', ')}, is "${text}"`) : good(choice);
  };

const truths: Readonly<Record<string, boolean>> = { '1': true, true: true, yes: true, '0': false, false: false, no: false };

export const parseSwitch: ParseValue<boolean> = (text) => {
  const value = truths[text.toLowerCase()];
  return value === undefined ? bad(`must be true or false, is "${text}"`) : good(value);
};

export const parseUrl =
  (...schemes: readonly string[]): ParseValue<string> =>
  (text) => {
    const url = URL.parse(text);
    const wanted = schemes.map((scheme) => `${scheme}://`).join(' or ');
    if (url === null || !schemes.includes(url.protocol.slice(0, -1))) return bad(`must be a URL that starts with ${wanted}`);
    // Postgres may listen on a local socket, without a host.
    if (url.hostname === '' && url.protocol !== 'postgres:' && url.protocol !== 'postgresql:') return bad('must name a host');
    return good(text);
  };

/** `/v1/metrics` and such are appended. A token belongs into a header, which is a secret setting. */
export const parseOtlpUrl: ParseValue<string> = (text) => {
  const parsed = parseUrl('http', 'https')(text);
  const { username, password, search, hash } = URL.parse(text) ?? {};
  if (parsed.ok && (username || password || search || hash)) return bad('must have no user, query or fragment');
  return parsed.ok ? good(text.replace(/\/+$/, '')) : parsed;
};

/** `name=value`, several separated by commas; a value may be percent-encoded, as in OTEL_EXPORTER_OTLP_HEADERS. */
export const parseHeaders: ParseValue<Readonly<Record<string, string>>> = (text) => {
  const problem = bad('must be name=value, several separated by commas');
  const pairs = text.split(',').map((pair) => /^\s*([\w-]{1,100})=([!-~ ]{1,4000}?)\s*$/.exec(pair));
  if (pairs.some((pair) => pair === null)) return problem;
  try {
    return good(Object.fromEntries(pairs.map((pair) => [pair![1]!.toLowerCase(), headerValue(pair![2]!)])));
  } catch {
    return problem;
  }
};

function headerValue(text: string): string {
  const value = decodeURIComponent(text);
  if (/^[ -~]+$/.test(value)) return value;
  throw new URIError('a header has printable ASCII');
}

/** One or several, separated by commas. */
export const parseUrls =
  (...schemes: readonly string[]): ParseValue<string> =>
  (text) => {
    const parse = parseUrl(...schemes);
    return (
      text
        .split(',')
        .map(parse)
        .find(({ ok }) => !ok) ?? good(text)
    );
  };

/** An origin as browsers send it: scheme, host and port, without a path. */
export const parseOrigin: ParseValue<string> = (text) => {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    return bad(`must be an address such as https://underpass.example.com, is "${text}"`);
  }
  const plain = url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '';
  return plain ? good(url.origin) : bad(`must have nothing after the host and port, is "${text}"`);
};

/** A list separated by commas or white space; at most 256 entries. */
export const parseList =
  <T>(each: ParseValue<T>): ParseValue<readonly T[]> =>
  (text) => {
    const parts = text.split(/[\s,]+/).filter((part) => part !== '');
    if (parts.length > 256) return bad(`must have at most 256 entries, has ${parts.length}`);
    const values: T[] = [];
    for (const part of parts) {
      const parsed = each(part);
      if (!parsed.ok) return parsed;
      values.push(parsed.value);
    }
    return good(values);
  };

/** node:net accepts a zone (`%eth0`) after the address; settings do not. */
const familyOf = (text: string): number => (text.includes('%') ? 0 : isIP(text));

/** An address or a CIDR range, for lists of machines that we trust. */
export const parseRange: ParseValue<string> = (text) => {
  const [address = '', prefix] = text.split('/');
  const family = familyOf(address);
  if (family === 0 || text.split('/').length > 2) return bad(`must list IP addresses or CIDR ranges, has "${text}"`);
  const most = family === 4 ? 32 : 128;
  const fits = prefix === undefined || (/^(0|[1-9]\d{0,2})$/.test(prefix) && Number(prefix) <= most);
  return fits ? good(text) : bad(`has a prefix over /${most} in "${text}"`);
};

interface SocketAddress {
  readonly address: string;
  readonly port: number;
}

/** `192.0.2.1`, `192.0.2.1:5353`, `[2001:db8::1]:53` or `2001:db8::1`. */
export const parseAddress =
  (defaultPort: number): ParseValue<SocketAddress> =>
  (text) => {
    const match = /^\[([0-9a-fA-F:.]+)\](?::(\d{1,5}))?$/.exec(text) ?? /^(\d[\d.]*)(?::(\d{1,5}))?$/.exec(text);
    const address = match?.[1] ?? text;
    const port = Number(match?.[2] ?? defaultPort);
    if (familyOf(address) === 0 || port < 1 || port > 65535)
      return bad(`must be an IP address with an optional port, is "${text}"`);
    return good({ address, port });
  };

/** A host name in lower case, without a trailing dot. */
export const parseHostName: ParseValue<string> = (text) => {
  const name = text.toLowerCase();
  const valid = name.length <= 253 && name.split('.').every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(label));
  return valid ? good(name) : bad(`must be a host name, is "${text}"`);
};

/** `host:port` that other machines can reach. */
export const parseHostPort: ParseValue<string> = (text) => {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:\s]+):(\d{1,5})$/.exec(text);
  return match !== null && Number(match[2]) <= 65535 ? good(text) : bad(`must be host:port, is "${text}"`);
};

const isBase64 = (text: string): boolean => /^[A-Za-z0-9+/_-]+={0,2}$/.test(text);

export const parseBase64Key: ParseValue<string> = (text) =>
  isBase64(text) && Buffer.from(text, 'base64').length >= 16 ? good(text) : bad('must be base64 of at least 16 bytes');

export const parseSecret: ParseValue<string> = (text) =>
  text.length >= 16 && text.length <= 4096 ? good(text) : bad('must have at least 16 characters');

/** A secret of Standard Webhooks. */
export const parseWebhookSecret: ParseValue<string> = (text) => {
  const key = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text)?.[1];
  const bytes = key === undefined ? 0 : Buffer.from(key, 'base64').length;
  return bytes >= 24 && bytes <= 64 ? good(text) : bad('must be whsec_ and Base64 of 24 to 64 bytes');
};

/** One or more keys, separated by commas: the first encrypts, all decrypt. */
export const parseKeys: ParseValue<string> = (text) => {
  const valid = text.split(/[\s,]+/).every((key) => isBase64(key) && Buffer.from(key, 'base64').length === 32);
  return valid ? good(text) : bad('must be base64 of 32 bytes; several keys are separated by commas');
};
