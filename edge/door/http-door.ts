// Port 80: reads the Host. Ingress tunnels get the bytes untouched, http tunnels a redirect, ACME challenges their answer.

import { createServer, type Server } from 'node:net';
import { hostOf } from '@underpass/wire/http/authority.ts';
import { RequestHead } from '@underpass/wire/http/request-head.ts';
import { encodeAlert, portUse } from '../core/destination.ts';
import { answerOfError, answerOfRefusedHead, type OwnAnswer, renderAnswer, renderErrorResponse } from '../core/own-answer.ts';
import { errorOfFailure, type VisitorError } from '../core/visitor-error.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';
import { httpDate } from '../visitor/http-date.ts';
import { Passthrough } from '../visitor/passthrough.ts';
import type { SeenRequest } from '../visitor/seen-request.ts';
import { createAcceptRules, type DoorOptions } from './door-options.ts';
import { sendAndEnd, socketOptions, UnroutedConnection } from './unrouted-connection.ts';

interface HttpDoorOptions extends DoorOptions {
  /** The port of https as visitors see it. */
  readonly publicHttpsPort: number;
}

interface Passed {
  readonly tunnel: TunnelState;
  readonly host: string;
  readonly seen: SeenRequest | null;
}

interface Redirected {
  readonly host: string;
  readonly target: string;
  readonly seen: SeenRequest | null;
}

const challengePath = '/.well-known/acme-challenge/';
const tlsHandshakeRecord = 22;

export class HttpDoor {
  readonly server: Server;
  readonly #options: HttpDoorOptions;

  constructor(options: HttpDoorOptions) {
    this.#options = options;
    const rules = createAcceptRules(options, {
      peeks: false,
      decider: () => {
        const head = new RequestHead();
        return (connection, bytes) => this.#decide(connection, head, bytes);
      },
    });
    this.server = createServer(socketOptions, (socket) => UnroutedConnection.receive(socket, rules, 'visitor'));
  }

  #decide(connection: UnroutedConnection, head: RequestHead, bytes: Buffer): boolean {
    if (bytes[0] === tlsHandshakeRecord) return this.#answer(connection, encodeAlert('unexpected_message'));
    const end = head.scan(bytes, 0, bytes.length);
    if (end === 0) return false;
    if (end < 0) return this.#answerError(connection, head, answerOfRefusedHead(head), this.#seeUnread(connection));
    return this.#route(connection, bytes, head, end);
  }

  #seeUnread({ ends }: UnroutedConnection): SeenRequest | null {
    const source = { tunnel: null, address: ends.sourceAddress, version: '1.1' };
    return this.#options.context.requestLog.beginUnread(source, '');
  }

  #route(connection: UnroutedConnection, bytes: Buffer, head: RequestHead, end: number): true {
    const { context } = this.#options;
    const host = hostOf(head.authority);
    const isOurs = this.#options.isRegionHost(host) || host === this.#options.dashboard?.host;
    const target = bytes.toString('latin1', head.targetStart, head.targetEnd);
    const tunnel = host === this.#options.dashboard?.host ? null : context.table.tunnelOf(host);
    if (tunnel !== null) tunnel.countConnection();
    const source = { tunnel, address: connection.ends.sourceAddress, host, version: '1.1' };
    // Links of the dashboard hold secrets, also in an address that somebody typed with http.
    const seen = host === this.#options.dashboard?.host ? null : context.requestLog.begin(source, head, bytes, end);
    if (tunnel !== null && portUse[tunnel.type].http === 'passthrough')
      return this.#pass(connection, bytes, head, { tunnel, host, seen });
    const proof = target.startsWith(challengePath) ? context.table.httpChallenge(host, target.slice(challengePath.length)) : null;
    if (proof !== null) {
      endSeen(seen, 200, proof.length);
      return this.#answer(connection, renderProof(proof));
    }
    if (tunnel === null && !isOurs) return this.#answerError(connection, head, answerOfError('UNDERPASS_NO_SUCH_HOST'), seen);
    const refusal = tunnel === null ? null : tunnel.refusal(connection.ends.sourceAddress);
    if (refusal !== null) return this.#answerError(connection, head, answerOfError(refusal), seen);
    return this.#redirect(connection, head, { host, target, seen });
  }

  /** An ingress tunnel: what is passed on untouched counts as a connection, and only an answer of ours as a request. */
  #pass({ socket, ends, path }: UnroutedConnection, bytes: Buffer, head: RequestHead, { tunnel, host, seen }: Passed): true {
    const { context } = this.#options;
    const refusal = tunnel.refusal(ends.sourceAddress);
    const headOnly = head.method === 'HEAD';
    const answer = (code: VisitorError): void => {
      context.counters.countError(code);
      seen?.answeredByEdge(answerOfError(code), headOnly);
      seen?.end();
      sendAndEnd(socket, renderErrorResponse(code, { close: true, headOnly, date: httpDate() }), context.deadlines);
    };
    if (refusal !== null) {
      answer(refusal);
      return true;
    }
    path?.decide();
    // Wait until UnroutedConnection has let go of the socket: no byte may be read twice.
    queueMicrotask(() => {
      const visit = { tunnel, host, kind: 'ingress-80', ends } as const;
      new Passthrough(context, socket, visit, bytes, (code) => answer(errorOfFailure(code)));
    });
    return true;
  }

  #redirect(connection: UnroutedConnection, head: RequestHead, { host, target, seen }: Redirected): true {
    const { publicHttpsPort } = this.#options;
    const port = publicHttpsPort === 443 ? '' : `:${publicHttpsPort}`;
    const path = target.startsWith('/') ? target : '/';
    // RFC 9110 15.4.9: 308 keeps method and body; 301 is what old clients of GET know.
    const status = head.method === 'GET' || head.method === 'HEAD' ? '301 Moved Permanently' : '308 Permanent Redirect';
    endSeen(seen, Number(status.slice(0, 3)), 0);
    return this.#answer(
      connection,
      `HTTP/1.1 ${status}\r\nlocation: https://${host}${port}${path}\r\ncontent-length: 0\r\ncache-control: max-age=300\r\ndate: ${httpDate()}\r\nconnection: close\r\n\r\n`,
    );
  }

  #answerError(connection: UnroutedConnection, head: RequestHead, answer: OwnAnswer, seen: SeenRequest | null): true {
    if (answer.code !== null) this.#options.context.counters.countError(answer.code);
    const headOnly = head.method === 'HEAD';
    seen?.answeredByEdge(answer, headOnly);
    seen?.end();
    return this.#answer(connection, renderAnswer(answer, { close: true, headOnly, date: httpDate() }));
  }

  #answer(connection: UnroutedConnection, answer: Uint8Array | string): true {
    sendAndEnd(connection.socket, answer, this.#options.context.deadlines);
    return true;
  }

  close(): void {
    this.server.close();
  }
}

function endSeen(seen: SeenRequest | null, status: number, bodyBytes: number): void {
  seen?.answered(status);
  seen?.count(bodyBytes);
  seen?.end();
}

function renderProof(keyAuthorization: string): string {
  return `HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\ncontent-length: ${keyAuthorization.length}\r\ndate: ${httpDate()}\r\nconnection: close\r\n\r\n${keyAuthorization}`;
}
