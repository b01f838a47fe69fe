// What the tests of faults start with: an upstream, the door of the first tunnel, its operator.
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { StartedServer } from '../helpers/process.ts';
import { type Account, signInBy } from '../helpers/product.ts';
import type { Door } from '../helpers/visitor.ts';

/** An HTTP server on a port of its own; its address. */
export async function startUpstream(
  t: TestContext,
  listener: RequestListener = (_, response) => response.end('served'),
): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export const doorOf = ({ ports, tunnel, caPem }: StartedServer): Door => ({
  port: ports.https,
  host: new URL(tunnel.publicUrl).hostname,
  caPem,
});

/** By the link that the first start printed: it works once. */
export async function signIn({ ports, server }: StartedServer): Promise<Account> {
  const link = /(http\S+\/magiclink\/\S+)/.exec(server.text())?.[1] ?? '';
  return signInBy(`http://localhost:${ports.control}`, link);
}
