// A name server for one test: answers with the records that the test sets, and NXDOMAIN for all others.

import { createSocket } from 'node:dgram';
import type { TestContext } from 'node:test';
import { type Answer, decode, encode } from 'dns-packet';

export interface NameServer {
  /** Value for UNDERPASS_DNS_SERVERS. */
  readonly address: string;
  /** Replaces the records of that type and name; without values it removes them. */
  set(type: 'A' | 'AAAA' | 'TXT' | 'NS', name: string, ...values: readonly string[]): void;
}

const authoritative = 0x0400;
const nxdomain = 3;

export async function startNameServer(t: TestContext): Promise<NameServer> {
  const records = new Map<string, readonly Answer[]>();
  const socket = createSocket('udp4');
  socket.on('message', (packet, from) => {
    const { id = 0, questions = [] } = decode(packet);
    const [question] = questions;
    const answers = [...(records.get(`${question?.type} ${question?.name.toLowerCase()}`) ?? [])];
    const flags = authoritative | (answers.length > 0 ? 0 : nxdomain);
    socket.send(encode({ type: 'response', id, flags, questions, answers }), from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  t.after(() => socket.close());
  return {
    address: `127.0.0.1:${socket.address().port}`,
    set: (type, name, ...values) => {
      const answers = values.map((data) => ({ type, name, ttl: 60, data }) as Answer);
      records.set(`${type} ${name}`, answers);
    },
  };
}
