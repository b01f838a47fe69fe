// The dashboard's own host on this edge: TLS has ended here, the bytes go to control on this machine and back, with the
// visitor's address in a PROXY header in front. Nothing of HTTP is read here: control's server is its only reader.

import { connect, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { resetSocket } from '@underpass/wire/socket/reset-socket.ts';
import { type Endpoints, encodeProxyHeader } from '../core/proxy-protocol.ts';

export interface DashboardHostOptions {
  /** Of the dashboard's address; no tunnel is ever looked up for it. */
  readonly host: string;
  /** A socket that only this edge and control may open. */
  readonly path: string;
}

/** Neither side moves: live views beat every 20 s, so whoever is silent for longer has gone or reads nothing. */
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

/** Each reads as fast as the other takes; the end of one is the end of both. */
function join(visitor: TLSSocket, control: Socket): void {
  visitor.pipe(control);
  control.pipe(visitor);
  control.once('close', () => visitor.end());
}
