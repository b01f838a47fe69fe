// TLS between edges of one region: both prove that they hold the region's secret (RFC 5489, ECDHE with a pre-shared key),
// so that there are no certificates to issue and renew for it.

import { hkdfSync } from 'node:crypto';
import { connect, createServer, type Server, type TLSSocket } from 'node:tls';
import { withoutBrackets } from '@underpass/rules/address/address.ts';

const identity = 'underpass-hop';
/** Pre-shared keys from outside exist in Node for TLS 1.2; this suite has forward secrecy and an AEAD. */
const suite = { ciphers: 'ECDHE-PSK-CHACHA20-POLY1305', minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' } as const;
const handshakeMs = 5_000;
/** The system answers a connection, however busy the edge is: a packet and one repetition. */
const connectMs = 2_000;

export function hopKey(secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', 'underpass hop', 32));
}

export function createHopServer(key: Buffer, onPeer: (socket: TLSSocket) => void): Server {
  const server = createServer(
    {
      ...suite,
      allowHalfOpen: true,
      handshakeTimeout: handshakeMs,
      pskCallback: (_socket, name) => (name === identity ? key : null),
    },
    onPeer,
  );
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  return server;
}

/** `address` is host:port; an IPv6 host stands in brackets. */
export function dialHop(key: Buffer, address: string): Promise<TLSSocket> {
  const { hostname, port } = new URL(`tcp://${address}`);
  return new Promise((resolve, reject) => {
    const socket = connect({
      ...suite,
      host: withoutBrackets(hostname),
      port: Number(port),
      pskCallback: () => ({ psk: key, identity }),
      // The key is the identity; there is no certificate to hold a name.
      checkServerIdentity: () => undefined,
    });
    let timer = setTimeout(() => socket.destroy(new Error('no connection in time')), connectMs);
    const settled = (): void => clearTimeout(timer);
    socket.once('connect', () => {
      settled();
      timer = setTimeout(() => socket.destroy(new Error('hop handshake timed out')), handshakeMs);
    });
    socket.once('close', settled).once('error', reject);
    socket.once('secureConnect', () => {
      settled();
      resolve(socket);
    });
  });
}
