// The types of the npm package `underpass`.

import type { IncomingMessage, Server, ServerResponse } from 'node:http';

export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => unknown;
export type FetchHandler = (request: Request) => Response | Promise<Response>;

/**
 * What visitors reach. A function with two parameters or more is called as Node's `http` calls it (Express too), one with fewer as
 * `fetch` handlers are called. An object with `fetch` is Hono's, Bun's or Deno's style. An `http.Server` need not listen.
 */
export type Handler = NodeHandler | FetchHandler | { fetch(request: Request): Response | Promise<Response> } | Server;

/** Whose tunnels: without them the settings of the `underpass` command count (`UNDERPASS_SERVER`, the last login, …). */
export interface AccountOptions {
  /** Address of the Underpass server. Default: `UNDERPASS_SERVER`, else that of the last login. */
  server?: string;
  /** A project by name or id. Default: `UNDERPASS_PROJECT`, else that of the login. */
  project?: string;
  /** An API token. Default: `UNDERPASS_API_TOKEN`, else the sign-in that `underpass login` saved. */
  apiToken?: string;
}

/** Makes a tunnel, and deletes it at the end. The same folder and name get the same address again. */
export interface QuickOptions extends AccountOptions {
  /** Name of the tunnel. Default: generated. */
  name?: string;
  /** Ingress domains of your own. Default: a generated one. */
  domain?: string | string[];
  /** Access policy: who may visit. */
  access?: string;
  /** Security group. */
  group?: string;
  /** Region. Default: the first available one. */
  region?: string;
  /** Does not delete the tunnel at the end. */
  keep?: boolean;
  /** Ends after this time, such as `30m`, `2h` or `1d`. */
  for?: string;
}

/** Carries a tunnel of the project. */
export interface NamedOptions extends AccountOptions {
  /** Name of the tunnel. */
  tunnel: string;
}

/** Carries a tunnel by the URL and token of its Connect section, without an account. */
export interface TokenOptions {
  url: string;
  token: string;
}

export interface CommonOptions {
  /** Ends the opening, or closes the tunnel. */
  signal?: AbortSignal;
}

export type ListenOptions = CommonOptions & (QuickOptions | NamedOptions | TokenOptions);

export type ForwardOptions = ListenOptions & {
  /**
   * Host header that the service gets: `same` (the one of the visitor), `upstream` (its own) or a name. Default: `upstream` for a
   * service of this machine, else `same`.
   */
  upstreamHost?: string;
};

/**
 * `lost`: no connection to the region is left; the tunnel reconnects by itself. `back`: it has one again. `error`: the handler threw,
 * and the visitor got a 500. `closed`: the end; `error` says why if nobody called `close()`.
 */
export type TunnelEventType = 'lost' | 'back' | 'error' | 'closed';

export interface TunnelEvent extends Event {
  readonly error?: unknown;
}

export interface Tunnel extends EventTarget {
  /** The first public address. */
  readonly url: string;
  /** Every public address. */
  readonly urls: readonly string[];
  /** Name of the tunnel. */
  readonly name: string;
  addEventListener(
    type: TunnelEventType,
    listener: (event: TunnelEvent) => void,
    options?: { once?: boolean; signal?: AbortSignal },
  ): void;
  removeEventListener(type: TunnelEventType, listener: (event: TunnelEvent) => void): void;
  /** Takes no new visitors, lets open requests finish for a few seconds, and deletes a tunnel that was made here. Never rejects. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Serves the handler at a public address, without a local port. Resolves once the first visit would succeed. */
export function listen(handler: Handler, options?: ListenOptions): Promise<Tunnel>;

/** Forwards a public address to a port of this machine or to `http://host:port`. Resolves once the first visit would succeed. */
export function forward(upstream: number | string, options?: ForwardOptions): Promise<Tunnel>;

/** Every error of this package. The codes are those of the `underpass` command (docs/errors.md), and stable. */
export class UnderpassError extends Error {
  readonly code: string;
  /** What to do. */
  readonly fix: string;
}
