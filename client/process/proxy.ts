// Chooses the HTTP proxy of every outgoing connection, from HTTPS_PROXY and NO_PROXY: of calls to the server as of carriers. Pure.
// HTTP_PROXY and ALL_PROXY count for nothing: a proxy for plain http would read the sign-in.

import { isIP } from 'node:net';
import { inBrackets, withoutBrackets } from '@underpass/rules/address/address.ts';
import { compileAllowList } from '@underpass/rules/address/allow-list.ts';
import { accept, type Parsed, refuse } from '@underpass/rules/parsed.ts';
import { parseUrl } from '@underpass/rules/text/parse-url.ts';
import { isLoopbackHost } from '@underpass/rules/tunnel/upstream.ts';

export interface HttpProxy {
  readonly tls: boolean;
  readonly host: string;
  readonly port: number;
  /** Value of Proxy-Authorization; null without credentials. */
  readonly authorization: string | null;
}

export type Env = Readonly<Record<string, string | undefined>>;

/** Chooses the proxy for TLS to a host, without brackets. Null means: dial directly. */
export function chooseProxy(env: Env, host: string, port: number): Parsed<HttpProxy | null> {
  const text = setting(env, 'HTTPS_PROXY');
  const name = host.replace(/\.$/, '');
  if (text === '' || isLoopbackHost(name) || isExempt(setting(env, 'NO_PROXY'), name, port)) return accept(null);
  return parseProxy(text);
}

export function chooseProxyOfUrl(env: Env, { protocol, hostname, port }: URL): Parsed<HttpProxy | null> {
  if (protocol !== 'https:') return accept(null);
  return chooseProxy(env, withoutBrackets(hostname), Number(port || 443));
}

/** The address for a runtime that dials the proxy itself. Holds the password. */
export function formatProxy({ tls, host, port, authorization }: HttpProxy): string {
  const [, user = '', password = ''] = /^([^:]*):(.*)$/s.exec(fromBasic(authorization)) ?? [];
  const credentials = authorization === null ? '' : `${encodeURIComponent(user)}:${encodeURIComponent(password)}@`;
  return `${tls ? 'https' : 'http'}://${credentials}${inBrackets(host)}:${port}`;
}

const fromBasic = (authorization: string | null): string =>
  Buffer.from((authorization ?? '').replace('Basic ', ''), 'base64').toString();

const setting = (env: Env, name: string): string => (env[name.toLowerCase()] ?? env[name] ?? '').trim();

function parseProxy(text: string): Parsed<HttpProxy> {
  const url = parseUrl(text.includes('://') ? text : `http://${text}`);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') {
    // The error leaves the text out, because it may contain a password.
    return refuse('it is not an http or https URL');
  }
  const tls = url.protocol === 'https:';
  return accept({
    tls,
    host: withoutBrackets(url.hostname),
    port: url.port === '' ? (tls ? 443 : 80) : Number(url.port),
    authorization: url.username === '' ? null : basic(unescapeWord(url.username), unescapeWord(url.password)),
  });
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
  const ascii = parseUrl(`http://${name}`)?.hostname;
  return ascii !== undefined && (host === ascii || host.endsWith(`.${ascii}`));
}
