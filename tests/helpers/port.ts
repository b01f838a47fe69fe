// Ports for programs that take no port 0, or that have to come back on the same one.
import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

/**
 * Below what the system gives to whoever dials (from 32,768 on Linux, 49,152 elsewhere): else a connection of anybody may
 * sit on the port between finding and opening it, or while its program is down. Above what fetch refuses (10,080).
 */
const [firstPort, endPort] = [11_000, 21_500];
/** So far above each port lies its claim: open as long as this process lives, so that no test is given the port meanwhile. */
const claimOffset = endPort - firstPort;
const maxTries = 1_000;

/** Free, and nobody else's until this process ends. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let tries = 0; ports.length < count; tries++) {
    if (tries === count + maxTries) throw new Error(`${count} free ports were not found in ${tries} tries`);
    const port = randomInt(firstPort, endPort);
    if ((await open(port + claimOffset)) === null) continue;
    const found = await open(port);
    if (found === null) continue;
    await new Promise((resolve) => found.close(resolve));
    ports.push(port);
  }
  return ports;
}

/** Holds up no end. */
const open = (port: number): Promise<Server | null> =>
  new Promise((resolve) => {
    const server = createServer().unref();
    server.once('error', () => resolve(null)).listen(port, '127.0.0.1', () => resolve(server));
  });
