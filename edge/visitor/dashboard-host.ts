// Serves the dashboard's own host: TLS ends at the edge, and the bytes pass to control on this machine and back, after a PROXY
// header with the visitor's address. The edge reads no HTTP here, only control does.

import { connect, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { resetSocket } from '@underpass/wire/socket/reset-socket.ts';
import { type Endpoints, encodeProxyHeader } from '../core/proxy-protocol.ts';

export interface DashboardHostOptions {
  /** The host of the dashboard's address. The edge never looks up a tunnel for it. */
  readonly host: string;
  /** Control's unix socket, which only this edge and control may open. */
  readonly path: string;
}

/** Closes a connection on which neither side sends. Live views send every 4 s, so one that is silent for two minutes is dead. */
const idleMs = 120_000;

const sorry = 'The dashboard does not answer at the moment. Tunnels carry on.\n';
const unavailable = `HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\nretry-after: 5\r\ncontent-length: ${sorry.length}\r\nconnection: close\r\n\r\n${sorry}`;

export class DashboardHost {
  readonly host: string;
  readonly #path: string;

  constructor({ host, path }: DashboardHostOptions) {
    this.host = host;
    this.#path = path;
  }

  receive(visitor: TLSSocket, ends: Endpoints): void {
    const control = connect({ path: this.#path });
    control.once('error', () => this.#refuse(visitor, control));
    control.once('connect', () => {
      control.write(encodeProxyHeader('v2', ends));
      join(visitor, control);
    });
    visitor.on('error', () => {});
    visitor.setTimeout(idleMs, () => visitor.destroy());
    visitor.once('close', () => control.destroy());
  }

  #refuse(visitor: TLSSocket, control: Socket): void {
    if (control.bytesWritten === 0 && !visitor.destroyed) visitor.end(unavailable);
    else resetSocket(visitor);
  }
}

/** Pipes both directions. The end of control's side ends the visitor's. */
function join(visitor: TLSSocket, control: Socket): void {
  visitor.pipe(control);
  control.pipe(visitor);
  control.once('close', () => visitor.end());
}
