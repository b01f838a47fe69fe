// What these tests start with: an upstream, the address of the first tunnel, its operator.
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { StartedServer } from '../helpers/process.ts';
import { type Account, signInBy } from '../helpers/product.ts';
import type { Door } from '../helpers/visitor.ts';

/** Starts an HTTP server on a free port; returns its URL. */
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

/** Signs in by the link that the first start printed; the link works once. */
export async function signIn({ ports, server }: StartedServer): Promise<Account> {
  const link = /(http\S+\/magiclink\/\S+)/.exec(server.text())?.[1] ?? '';
  return signInBy(`http://localhost:${ports.control}`, link);
}
