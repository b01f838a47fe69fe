// An HTTP proxy for CONNECT that connects every name to one port of this machine: public names without public DNS.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** Returns the value for HTTPS_PROXY. */
export async function startConnectProxy(t: TestContext, port: number): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer().on('connect', (_request, visitor: Socket) => {
    const target = connect(port, '127.0.0.1', () => visitor.write('HTTP/1.1 200 OK\r\n\r\n'));
    visitor.pipe(target).pipe(visitor);
    for (const socket of [visitor, target]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => [visitor, target].map((each) => each.destroy()));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
