// The listening sockets that this process inherited from the one before it. A socket that closes resets the connections which wait
// in it, so each is used on, for as long as the settings name its address.

import { closeSync } from 'node:fs';
import { type Listen, socketKey } from './listen.ts';

export class InheritedSockets {
  readonly #fds = new Map<string, number[]>();
  readonly #close: (fd: number) => void;

  /** `keys` are in the order of the descriptors, of which `firstFd` is the first. */
  constructor(keys: readonly string[], firstFd: number, close: (fd: number) => void = closeSync) {
    this.#close = close;
    for (const [at, key] of keys.entries()) this.#fds.set(key, [...(this.#fds.get(key) ?? []), firstFd + at]);
  }

  /** The address with the socket that is open there, if one is left. */
  take(name: string, where: Listen): Listen {
    const fd = this.#fds.get(socketKey(name, where))?.shift();
    return fd === undefined ? where : { ...where, fd };
  }

  /** One socket of each address that `name` has, by socketKey: the ports come from the feed, not from settings. */
  takeEach(name: string): Record<string, number> {
    const keys = [...this.#fds.keys()].filter((key) => key.startsWith(`${name} `));
    return Object.fromEntries(keys.flatMap((key) => [this.#fds.get(key)?.shift() ?? []].flat().map((fd) => [key, fd])));
  }

  /** Closes what no server took: the kernel would go on giving it connections that no process accepts. */
  closeRest(): void {
    for (const fd of [...this.#fds.values()].flat()) this.#close(fd);
    this.#fds.clear();
  }
}
