// Ports for programs that take no port 0, or that have to come back on the same one.
import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

/**
 * Below what the system gives to whoever dials (from 32,768 on Linux, 49,152 elsewhere): else a connection of anybody may
 * sit on the port between finding and opening it, or while its program is down. Above what fetch refuses (10,080).
 */
const [firstPort, endPort] = [11_000, 32_000];
const maxTries = 1_000;

/** Free a moment ago. Found together, so that they differ. */
export async function freePorts(count: number): Promise<number[]> {
  const servers: Server[] = [];
  const ports: number[] = [];
  for (let tries = 0; ports.length < count && tries < maxTries; tries++) {
    const port = randomInt(firstPort, endPort);
    const server = createServer();
    if (!(await opens(server, port))) continue;
    servers.push(server);
    ports.push(port);
  }
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  if (ports.length < count) throw new Error(`${count} free ports were not found in ${maxTries} tries`);
  return ports;
}

const opens = (server: Server, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
  });
