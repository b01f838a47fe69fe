// Port 80: the Host is read; ingress tunnels get the bytes untouched, http tunnels a redirect, ACME its answers.

import { createServer, type Server } from 'node:net';
import { hostOf } from '../core/authority.ts';
import { encodeAlert } from '../core/destination.ts';
import { RequestHead } from '../core/request-head.ts';
import { errorOfReset, errorOfStatus, renderErrorResponse, type VisitorError } from '../core/visitor-error.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';
import type { Console } from '../visitor/console.ts';
import { httpDate } from '../visitor/http-date.ts';
import { Passthrough } from '../visitor/passthrough.ts';
import type { House } from '../visitor/visitor-context.ts';
import { Arrival, type ArrivalRules, doorSockets, sayAndEnd } from './unrouted-connection.ts';

export interface HttpDoorOptions {
  readonly house: House;
  readonly isBalancer: (address: string) => boolean;
  readonly isRegionHost: (host: string) => boolean;
  /** Missing where the dashboard is served elsewhere. */
  readonly console: Console | undefined;
  /** The port of https as visitors see it. */
  readonly publicHttpsPort: number;
}

const challengePath = '/.well-known/acme-challenge/';
const tlsHandshakeRecord = 22;

export class HttpDoor {
  readonly server: Server;
  readonly #options: HttpDoorOptions;

  constructor(options: HttpDoorOptions) {
    const { house } = options;
    this.#options = options;
    const rules: ArrivalRules = {
      sweeper: house.sweeper,
      doorman: house.doorman,
      headMs: house.timeouts.headMs,
      isBalancer: options.isBalancer,
      isReady: () => house.table.loaded,
      glances: false,
      decider: () => {
        const head = new RequestHead();
        return (arrival, bytes) => this.#decide(arrival, head, bytes);
      },
      onLost: () => {
        house.unrouted++;
      },
    };
    this.server = createServer(doorSockets, (socket) => Arrival.receive(socket, rules, 'visitor'));
  }

  #decide(arrival: Arrival, head: RequestHead, bytes: Buffer): boolean {
    if (bytes[0] === tlsHandshakeRecord) return this.#say(arrival, encodeAlert('unexpected_message'));
    const end = head.scan(bytes, 0, bytes.length);
    if (end === 0) return false;
    if (end < 0) return this.#refuse(arrival, head, errorOfStatus(head.refusedStatus));
    return this.#route(arrival, bytes, head);
  }

  #route(arrival: Arrival, bytes: Buffer, head: RequestHead): true {
    const { house } = this.#options;
    const host = hostOf(head.authority);
    const isOurs = this.#options.isRegionHost(host) || host === this.#options.console?.host;
    const target = bytes.toString('latin1', head.targetStart, head.targetEnd);
    const tunnel = host === this.#options.console?.host ? null : house.table.tunnelOf(host);
    if (tunnel !== null) tunnel.connections++;
    if (tunnel?.type === 'ingress') return this.#pass(arrival, bytes, head, tunnel, host);
    const proof = target.startsWith(challengePath) ? house.table.httpChallenge(host, target.slice(challengePath.length)) : null;
    if (proof !== null) return this.#say(arrival, renderProof(proof));
    if (tunnel === null && !isOurs) return this.#refuse(arrival, head, 'UNDERPASS_NO_SUCH_HOST');
    const refusal = tunnel === null ? null : house.admitTo(tunnel, arrival.ends.sourceAddress);
    if (refusal !== null) return this.#refuse(arrival, head, refusal);
    return this.#redirect(arrival, head, host, target);
  }

  #pass({ socket, ends }: Arrival, bytes: Buffer, head: RequestHead, tunnel: TunnelState, host: string): true {
    const { house } = this.#options;
    const refusal = house.admitTo(tunnel, ends.sourceAddress);
    const headOnly = head.method === 'HEAD';
    const answer = (code: VisitorError): void => {
      house.countError(code);
      sayAndEnd(socket, renderErrorResponse(code, { close: true, headOnly, date: httpDate() }), house.sweeper);
    };
    if (refusal !== null) {
      answer(refusal);
      return true;
    }
    // After the arrival has let go of the socket, so that no byte is heard twice.
    queueMicrotask(() => {
      const route = { tunnel, host, kind: 'ingress-80', ends } as const;
      new Passthrough(house, socket, route, bytes, (code) => answer(errorOfReset(code)));
    });
    return true;
  }

  #redirect(arrival: Arrival, head: RequestHead, host: string, target: string): true {
    const { publicHttpsPort } = this.#options;
    const port = publicHttpsPort === 443 ? '' : `:${publicHttpsPort}`;
    const path = target.startsWith('/') ? target : '/';
    // RFC 9110 15.4.9: 308 keeps method and body; 301 is what old clients of GET know.
    const status = head.method === 'GET' || head.method === 'HEAD' ? '301 Moved Permanently' : '308 Permanent Redirect';
    return this.#say(
      arrival,
      `HTTP/1.1 ${status}\r\nlocation: https://${host}${port}${path}\r\ncontent-length: 0\r\ncache-control: max-age=300\r\ndate: ${httpDate()}\r\nconnection: close\r\n\r\n`,
    );
  }

  #refuse(arrival: Arrival, head: RequestHead, code: VisitorError): true {
    this.#options.house.countError(code);
    return this.#say(arrival, renderErrorResponse(code, { close: true, headOnly: head.method === 'HEAD', date: httpDate() }));
  }

  #say(arrival: Arrival, words: Uint8Array | string): true {
    sayAndEnd(arrival.socket, words, this.#options.house.sweeper);
    return true;
  }

  close(): void {
    this.server.close();
  }
}

function renderProof(keyAuthorization: string): string {
  return `HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\ncontent-length: ${keyAuthorization.length}\r\ndate: ${httpDate()}\r\nconnection: close\r\n\r\n${keyAuthorization}`;
}
