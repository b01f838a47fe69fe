// Sends one DNS update over TCP and waits for the signed answer: bounded in time and size.

import { randomInt } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { encodeUpdate, readUpdateAnswer, signMessage, type TsigKey, type TxtChange } from './message.ts';

interface DnsUpdaterOptions {
  readonly server: { readonly address: string; readonly port: number };
  readonly zone: string;
  readonly key: TsigKey;
  readonly clock: () => number;
}

export interface DnsUpdater {
  readonly zone: string;
  change(change: Omit<TxtChange, 'zone'>): Promise<void>;
}

const timeoutMs = 10_000;
/** An answer to an update is some 150 bytes; the length field allows no more than this. */
const maxAnswerBytes = 65_535;

/** One DNS message over TCP is its length and itself (RFC 1035 4.2.2). */
async function readMessage(socket: Socket): Promise<Buffer> {
  let held = Buffer.alloc(0);
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    held = Buffer.concat([held, chunk]);
    const length = held.length >= 2 ? held.readUInt16BE(0) : maxAnswerBytes;
    if (held.length >= 2 + length) return held.subarray(2, 2 + length);
  }
  throw new Error('dns update: the server closed the connection');
}

async function exchangeMessage(server: DnsUpdaterOptions['server'], message: Buffer): Promise<Buffer> {
  const socket = connect({ host: server.address, port: server.port, signal: AbortSignal.timeout(timeoutMs) });
  try {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(message.length);
    socket.write(Buffer.concat([length, message]));
    return await readMessage(socket);
  } finally {
    socket.destroy();
  }
}

export function createDnsUpdater({ server, zone, key, clock }: DnsUpdaterOptions): DnsUpdater {
  return {
    zone,
    change: async (change) => {
      const id = randomInt(0x10000);
      const { bytes, mac } = signMessage(encodeUpdate(id, { ...change, zone }), key, clock());
      const problem = readUpdateAnswer(await exchangeMessage(server, bytes), id, mac, key);
      if (problem !== undefined) throw new Error(`dns update: ${server.address} answered ${problem} for ${change.name}`);
    },
  };
}
