import type { TLSSocket } from 'node:tls';
import type { Endpoints } from './core/proxy-protocol.ts';
import type { House } from './house.ts';
import type { TunnelState } from './tunnel-state.ts';

export class Http2Door {
  readonly #house: House;
  constructor(house: House) {
    this.#house = house;
  }
  receive(socket: TLSSocket, ends: Endpoints, host: string, tunnel: TunnelState | null): void {
    void [this.#house, ends, host, tunnel];
    socket.destroy();
  }
}
