// Chooses the HTTP proxy for a connection to the region, from HTTPS_PROXY and NO_PROXY. Pure.

import { isIP } from 'node:net';
import { compileAllowList } from '@underpass/rules/allow-list.ts';
import { isLoopbackHost } from '@underpass/rules/upstream.ts';
import { CarryError } from './problem.ts';

export interface HttpProxy {
  readonly tls: boolean;
  readonly host: string;
  readonly port: number;
  /** Value of Proxy-Authorization; null without credentials. */
  readonly authorization: string | null;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Null means: dial directly. */
export function chooseProxy(env: Env, host: string, port: number): HttpProxy | null {
  const text = setting(env, 'HTTPS_PROXY');
  if (text === '' || isLoopbackHost(host) || isExempt(setting(env, 'NO_PROXY'), host, port)) return null;
  return parseProxy(text);
}

const setting = (env: Env, name: string): string => (env[name.toLowerCase()] ?? env[name] ?? '').trim();

function parseProxy(text: string): HttpProxy {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') {
    // The error leaves the text out, because it may contain a password.
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

/** A password may hold an unescaped `%`. */
function unescapeWord(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const basic = (user: string, password: string): string => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

/**
 * NO_PROXY as Go's httpproxy and curl read it: `*`, `example.com` with all names below it, `.example.com`, an address, each
 * with or without a port, and CIDR ranges.
 */
function isExempt(list: string, host: string, port: number): boolean {
  const entries = list.split(/[\s,]+/).filter((entry) => entry !== '');
  return entries.some((entry) => entry === '*' || covers(entry, host, port));
}

function covers(entry: string, host: string, port: number): boolean {
  // Several colons without brackets: an IPv6 address.
  const [, inBrackets, plain, onPort = port] = /^(?:\[(.*)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? ['', '', entry];
  const place = inBrackets || plain || '';
  if (Number(onPort) !== port) return false;
  return isIP(host) === 0 ? isUnder(host, place.replace(/^\*?\./, '')) : compileAllowList([place])(host);
}

function isUnder(host: string, name: string): boolean {
  const ascii = URL.parse(`http://${name}`)?.hostname;
  return ascii !== undefined && (host === ascii || host.endsWith(`.${ascii}`));
}
