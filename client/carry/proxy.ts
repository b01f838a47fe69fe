// Which HTTP proxy a connection to the region takes: HTTPS_PROXY and NO_PROXY as people set them. Pure.

import { CarryError } from './problem.ts';

export interface HttpProxy {
  readonly tls: boolean;
  readonly host: string;
  readonly port: number;
  /** Value of Proxy-Authorization, null without credentials. */
  readonly authorization: string | null;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Null: dial directly. */
export function chooseProxy(env: Env, host: string, port: number): HttpProxy | null {
  const text = setting(env, 'HTTPS_PROXY');
  if (text === '' || isLocal(host) || isExempt(setting(env, 'NO_PROXY'), host, port)) return null;
  return parseProxy(text);
}

const setting = (env: Env, name: string): string => (env[name.toLowerCase()] ?? env[name] ?? '').trim();

export const isLocal = (host: string): boolean => host === 'localhost' || host.endsWith('.localhost');

function parseProxy(text: string): HttpProxy {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') {
    // Not the text itself: it may hold a password.
    throw new CarryError('proxy-invalid', 'it is not an http or https URL');
  }
  const tls = url.protocol === 'https:';
  return {
    tls,
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? (tls ? 443 : 80) : Number(url.port),
    authorization: url.username === '' ? null : basic(unescapeWord(url.username), unescapeWord(url.password)),
  };
}

/** A password may hold a `%` that nobody has escaped. */
function unescapeWord(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const basic = (user: string, password: string): string => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

/** `*`, `example.com` (and what is under it), `.example.com`, `host:port`, an address. */
function isExempt(list: string, host: string, port: number): boolean {
  const entries = list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '');
  return entries.some((entry) => entry === '*' || covers(entry, host, port));
}

function covers(entry: string, host: string, port: number): boolean {
  const match = /^(.*?)(?::(\d+))?$/.exec(entry)!;
  const bare = /^[0-9a-f:]+$/.test(entry) && entry.split(':').length > 2 ? entry : match[1]!;
  if (bare !== entry && Number(match[2]) !== port) return false;
  const name = bare.replace(/^\*?\./, '').replace(/^\[(.*)\]$/, '$1');
  return name !== '' && (host === name || host.endsWith(`.${name}`));
}
