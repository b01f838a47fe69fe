// Parses Tunnel.url, which a client dials: host, port, and in the fragment the pin of a private CA.

import { withoutBrackets } from '@underpass/rules/address/address.ts';
import { parseUrl } from '@underpass/rules/text/parse-url.ts';
import { CarryError } from './problem.ts';

export interface RegionUrl {
  /** Lower case, no brackets. */
  readonly host: string;
  readonly port: number;
  /** The Host header: with the port if it is not 443. */
  readonly authority: string;
  /** SHA-256 of the CA certificate's DER in hex; null means public CAs. */
  readonly pin: string | null;
}

export function parseRegionUrl(text: string): RegionUrl {
  const url = parseUrl(text);
  const pin = /^(?:#ca=([0-9a-f]{64}))?$/.exec(url?.hash ?? '');
  const bare = url !== null && url.protocol === 'https:' && url.pathname === '/' && url.search === '' && url.username === '';
  if (!bare || pin === null) throw new CarryError('url-invalid', `'${text}'`);
  const host = withoutBrackets(url.hostname);
  return { host, port: url.port === '' ? 443 : Number(url.port), authority: url.host, pin: pin[1] ?? null };
}
