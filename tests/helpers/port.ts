// Free ports for programs that cannot listen on port 0 or must restart on the same port.
import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

/**
 * Ports below those that the system gives to outgoing connections (from 32,768 on Linux, 49,152 elsewhere): one of those could
 * take the port before its program opens it, or while it is down. The last port that fetch refuses, 10,080, is lower.
 */
const [firstPort, endPort] = [11_000, 21_500];
/** A claim for port P is a listener on P + claimOffset. It stays open until this process ends, so no other test gets P. */
const claimOffset = endPort - firstPort;
const maxTries = 1_000;

/** Finds free ports and reserves them for this process until it ends. */
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

/** Listens on the port; null if it is taken. Unreferenced, so that the listener does not keep the process alive. */
const open = (port: number): Promise<Server | null> =>
  new Promise((resolve) => {
    const server = createServer().unref();
    server.once('error', () => resolve(null)).listen(port, '127.0.0.1', () => resolve(server));
  });
