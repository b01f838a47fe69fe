// Opens one connection to the service behind a private tunnel: TLS to the edge, which checks the ticket, and inside it TLS to the
// client that carries the tunnel, whose key the edge has not (docs/decisions/025).

import { setTimeout as wait } from 'node:timers/promises';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { carrierPath, reachProtocol, softwareHeader, tunnelHeader } from '@underpass/wire/core/upgrade.ts';
import { HandshakeError, requestUpgrade } from '@underpass/wire/handshake.ts';
import type { TicketContent } from '@underpass/wire/ticket/reach-ticket.ts';
import { dialTrusted } from '../carry/dial.ts';
import { CarryError } from '../carry/problem.ts';
import { proxyFor } from '../carry/proxy-connect.ts';
import { parseRegionUrl } from '../carry/region-url.ts';
import { connected, stepTimeoutMs, unlessAborted } from '../carry/socket.ts';
import { withoutGrant } from '../gateway/reach-gateway.ts';
import { presentedPin, requestHost } from '../gateway/visit.ts';
import { ClientError } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import { version } from '../process/version.ts';

interface ReachOptions {
  readonly env: Io['env'];
  readonly caPem: string | undefined;
  /** Rejects with reach-untrusted. Nothing is sent inside before it resolves. */
  readonly checkPin: (pin: string) => Promise<void>;
  /** Control has just given the pass: an edge that refuses it has not heard of it yet. */
  readonly isNewPass?: boolean;
}

/** An edge that restarts is back within some seconds, and so is the client at the other end. */
const retryMs = 10_000;
/** The edge waits for a client too, up to 10 s. */
const handshakeMs = 2 * stepTimeoutMs;
/** Short at first, since most passes; doubled each time, so that an edge which starts is not kept busy. */
const firstPauseMs = 250;
const longestPauseMs = 2_000;

/** Tries again for some seconds while the region or the client at the other end is away. */
export async function openReach(ticket: TicketContent, options: ReachOptions, signal: AbortSignal): Promise<TLSSocket> {
  const endsAtMs = performance.now() + retryMs;
  for (let dialIndex = 0; ; dialIndex++) {
    try {
      return await openOnce(ticket, options, dialIndex, signal);
    } catch (error) {
      const pauseMs = Math.min(firstPauseMs * 2 ** dialIndex, longestPauseMs);
      const cause = error instanceof ClientError ? error.cause : undefined;
      const isUnheard = options.isNewPass === true && cause instanceof HandshakeError && cause.code === 'token-refused';
      if (!(isUnheard || isPassing(cause)) || performance.now() + pauseMs > endsAtMs) throw error;
      await wait(pauseMs, undefined, { signal }).catch(() => Promise.reject(error));
    }
  }
}

/** `bad-request` is the answer of an old edge: during an update the next dial may meet a new one. */
const passing: ReadonlySet<HandshakeError['code']> = new Set(['draining', 'unready', 'lost', 'bad-request']);

/** Ends of an inner handshake: the alert of an edge that has no client, and a client that went away in the middle. */
const broken = new Set<string | undefined>(['ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', 'ECONNRESET', 'EPIPE']);

const isPassing = (cause: unknown): boolean =>
  broken.has((cause as NodeJS.ErrnoException | null | undefined)?.code) ||
  (cause instanceof HandshakeError && passing.has(cause.code)) ||
  (cause instanceof CarryError && (cause.problem.code === 'edge-unreachable' || cause.problem.code === 'connection-lost'));

async function openOnce(
  ticket: TicketContent,
  options: ReachOptions,
  dialIndex: number,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const outer = await dialRegion(ticket, options, dialIndex, signal);
  try {
    const inner = await endToEnd(ticket, outer, options, signal);
    inner.once('close', () => outer.destroy());
    return inner;
  } catch (error) {
    outer.destroy();
    throw error;
  }
}

async function dialRegion(
  { url, tunnelId, secret, name }: TicketContent,
  { env, caPem }: ReachOptions,
  dialIndex: number,
  signal: AbortSignal,
): Promise<TLSSocket> {
  try {
    const region = parseRegionUrl(url);
    const proxy = proxyFor(env, region.host, region.port);
    const socket = await dialTrusted({ region, proxy, caPem, dialIndex, signal });
    const answer = requestUpgrade(socket, {
      ...{ host: region.authority, path: carrierPath, protocol: reachProtocol, token: secret, timeoutMs: stepTimeoutMs },
      headers: { [tunnelHeader]: tunnelId, [softwareHeader]: `underpass/${version}` },
    });
    await unlessAborted(answer, socket, signal).catch((error) => {
      socket.destroy();
      throw error;
    });
    socket.allowHalfOpen = true;
    return socket;
  } catch (cause) {
    throw explain(cause, name);
  }
}

/** Why, and what to do if that is not to ask for a ticket. */
const refused: { readonly [Code in HandshakeError['code']]?: readonly [why: string, fix?: string] } = {
  'token-refused': ['the ticket was revoked or has ended, or you are no member any more'],
  'tunnel-suspended': ['the tunnel is suspended', 'Ask the operator of the service to resume it.'],
  denied: [
    'its security group does not allow your address',
    'Ask somebody who manages the tunnel to allow the address from which you come.',
  ],
  'bad-request': ['the region is too old for private tunnels', 'Ask the operator of the region to upgrade its edges.'],
};

function explain(cause: unknown, name: string): ClientError {
  if (cause instanceof CarryError) return new ClientError('reach-unreachable', `${name} (${cause.message})`, { cause });
  if (!(cause instanceof HandshakeError)) throw cause;
  const [why, fix] = refused[cause.code] ?? [];
  return why === undefined
    ? new ClientError('reach-unreachable', `${name} (the region answers: ${cause.code})`, { cause })
    : new ClientError('reach-refused', `${name}: ${why}`, { ...(fix === undefined ? {} : { fix }), cause });
}

/** Only TLS 1.3, which hides the certificate too. The pin stands in for the authorities. */
async function endToEnd(
  { name, grant = withoutGrant }: TicketContent,
  outer: TLSSocket,
  { checkPin }: ReachOptions,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const socket = connectTls({ socket: outer, rejectUnauthorized: false, minVersion: 'TLSv1.3', ALPNProtocols: ['http/1.1'] });
  const silent = (why: string) => (error: unknown) => new ClientError('reach-unreachable', `${name} (${why})`, { cause: error });
  await connected(socket, 'secureConnect', signal, silent('no client of the tunnel answers'), handshakeMs);
  socket.allowHalfOpen = true;
  const pin = presentedPin(socket);
  if (pin === null) throw new ClientError('reach-untrusted', name);
  await checkPin(pin);
  const status = await requestHost(socket, grant, signal).catch((error) =>
    Promise.reject(silent('its client does not answer')(error)),
  );
  if (status === '200') return socket;
  if (status === '403')
    throw new ClientError('reach-refused', `${name}: its client admits only tickets that were made with its key`, {
      fix: 'Ask the person who carries the tunnel for a ticket of "underpass tickets add", made on the machine of that client.',
    });
  throw new ClientError('reach-unreachable', `${name} (the service behind the tunnel does not answer)`);
}
