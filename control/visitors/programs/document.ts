// Reads the document at the address that is a program's id. Strangers choose the address, so the request connects to public
// addresses only, follows no redirect, ends soon, and shows nobody the body.

import { request } from 'node:https';
import { isIP } from 'node:net';
import { networkKey, withoutBrackets } from '@underpass/rules/address/address.ts';
import { isInside } from '../../edges/dns/inside.ts';
import type { DnsPort } from '../../edges/dns/port.ts';
import { createSharedAnswers } from '../../edges/dns/shared-answers.ts';
import { createTurns } from '../../platform/limit/turns.ts';
import type { OAuthClient } from './core/authorization.ts';
import { parseDocument } from './core/client-metadata.ts';

const timeoutMs = 5_000;
const bytesMost = 10_240;
const keptMs = 5 * 60_000;
/** About 2 kB each. */
const keptMost = 1_000;
const atOnce = 8;
const waitingMost = 32;
/** Shares of one network, whose sites may be slow on purpose. */
const atOnceOfNetwork = 2;
const waitingOfNetwork = 6;

/** Which servers may hold documents. The product uses `publicNet`; a test passes one for its own server. */
export interface DocumentNet {
  readonly addressesOf: (host: string) => Promise<readonly string[] | 'unknown'>;
  readonly isAllowed: (address: string, port: number) => boolean;
  /** A certificate authority beside those that Node trusts. */
  readonly ca?: string;
}

/** Public addresses at port 443: strangers can reach nothing behind the firewall, and scan no ports. */
export const publicNet = (dns: Pick<DnsPort, 'lookup'>): DocumentNet => ({
  addressesOf: (host) => dns.lookup(host),
  isAllowed: (address, port) => port === 443 && !isInside(address),
});

/** The client, or why there is none. `address`: who asks. */
export type ReadDocument = (clientId: string, address: string) => Promise<OAuthClient | string>;

/** Connects to the address that was checked: a second look-up could give another one. */
function pinned(address: string) {
  const entry = { address, family: isIP(address) };
  return (_host: string, { all }: { all?: boolean }, done: (error: null, ...found: unknown[]) => void): void =>
    all ? done(null, [entry]) : done(null, entry.address, entry.family);
}

const isJson = (type: string | undefined): boolean => /^application\/([a-z0-9.+-]+\+)?json(;|$)/i.test(type ?? '');

const get = (url: URL, address: string, ca: string | undefined): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const sent = request(url, {
      agent: false,
      lookup: pinned(address) as never,
      signal: AbortSignal.timeout(timeoutMs),
      headers: { accept: 'application/json', 'user-agent': 'underpass' },
      ...(ca === undefined ? {} : { ca }),
    });
    const fail = (text: string): void => {
      sent.destroy();
      reject(new Error(text));
    };
    sent.on('error', () => fail('its server does not answer'));
    sent.on('response', (response) => {
      if (response.statusCode !== 200) return fail(`its server answers with status ${response.statusCode}`);
      if (!isJson(response.headers['content-type'])) return fail('its server answers with something else than JSON');
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > bytesMost) fail(`its document is longer than ${bytesMost} bytes`);
        else chunks.push(chunk);
      });
      response.on('error', () => fail('its server ended the answer early'));
      response.on('end', () => resolve(Buffer.concat(chunks)));
    });
    sent.end();
  });

async function read(net: DocumentNet, clientId: string): Promise<OAuthClient | string> {
  const url = new URL(clientId);
  // An address in the place of a name skips the look-up, and no site vouches for it.
  if (isIP(withoutBrackets(url.hostname)) !== 0) return 'its host is an address, not a name';
  const addresses = await net.addressesOf(url.hostname);
  if (addresses === 'unknown' || addresses.length === 0) return 'its host has no public address';
  const port = url.port === '' ? 443 : Number(url.port);
  // A name with public and inside addresses is an attack: repeated tries would reach the inside one.
  if (!addresses.every((address) => net.isAllowed(address, port))) return 'its host has no public address';
  try {
    return parseDocument(clientId, (await get(url, addresses[0]!, net.ca)).toString('utf8'));
  } catch (error) {
    return (error as Error).message;
  }
}

export function createDocumentReader(net: DocumentNet): ReadDocument {
  const sentence = 'Too many programs are being looked up. Please try again soon.';
  const turns = createTurns(atOnce, waitingMost, sentence);
  const turnsOfNetwork = createTurns(atOnceOfNetwork, waitingOfNetwork, sentence);
  const question = (clientId: string): Promise<OAuthClient | string> => turns('all', () => read(net, clientId));
  const answers = createSharedAnswers(question, { keptMs, most: keptMost, clock: () => performance.now() });
  return async (clientId, address) => {
    const kept = answers.recent(clientId);
    // Ask again after a failure: the owner may have just corrected the document.
    if (kept !== undefined && typeof kept !== 'string') return kept;
    return turnsOfNetwork(networkKey(address), () => answers.ask(clientId));
  };
}
