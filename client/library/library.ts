// The library of the npm package: `listen` and `forward`. Everything that lasts belongs to one tunnel; nothing is global.

import { quickUpstreams } from '../quick/quick-upstreams.ts';
import { insideOf, insideUpstreams } from '../tunnels/inside-server.ts';
import { type Carried, CarriedTunnel } from './carried-tunnel.ts';
import { serverOf } from './handler.ts';
import { createLibraryIo } from './library-io.ts';
import { type Source, sourceOf } from './options.ts';
import { openSource } from './source.ts';
import type * as api from './underpass.d.ts';
import { LibraryError, underpassError } from './underpass-error.ts';

export { LibraryError as UnderpassError };

export async function listen(handler: api.Handler, options: api.ListenOptions = {}): Promise<api.Tunnel> {
  return open(options, ['signal'], (onError) => {
    const { server, own } = serverOf(handler, onError);
    const end = () => {
      if (own) server.close();
    };
    return { upstreams: insideUpstreams, inside: insideOf(server, 'handler'), endIdle: () => server.closeIdleConnections(), end };
  });
}

export async function forward(upstream: number | string, options: api.ForwardOptions = {}): Promise<api.Tunnel> {
  return open(options, ['signal', 'upstreamHost'], () => {
    const { upstreamHost } = options;
    const upstreams = quickUpstreams('http', String(upstream), upstreamHost === undefined ? undefined : [upstreamHost]);
    return { upstreams, end: () => {} };
  });
}

type Prepare = (onError: (error: unknown) => void) => Carried;

/** Resolves with a tunnel that takes visitors. An abort rejects at once; what was opened until then is closed after it. */
async function open(options: api.ForwardOptions, others: readonly string[], prepare: Prepare): Promise<api.Tunnel> {
  const { signal } = options;
  signal?.throwIfAborted();
  const opening = openTunnel(() => sourceOf(options, others), signal, prepare).catch((error) => {
    throw underpassError(error);
  });
  if (signal === undefined) return opening;
  const aborted = new AbortController();
  const cancelled = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true, signal: aborted.signal });
  });
  return Promise.race([opening, cancelled]).finally(() => aborted.abort());
}

async function openTunnel(chooseSource: () => Source, signal: AbortSignal | undefined, prepare: Prepare): Promise<CarriedTunnel> {
  const source = chooseSource();
  let fail: CarriedTunnel['fail'] = () => {};
  const carried = prepare((error) => fail(error));
  try {
    const apiToken = 'apiToken' in source.options ? source.options.apiToken : undefined;
    const io = createLibraryIo(apiToken === undefined ? {} : { UNDERPASS_API_TOKEN: apiToken });
    const tunnel = new CarriedTunnel(io, await openSource(io, source), carried);
    fail = (error) => tunnel.fail(error);
    closeOnAbort(tunnel, signal);
    try {
      tunnel.start();
    } catch (error) {
      await tunnel.close();
      throw error;
    }
    await tunnel.ready;
    return tunnel;
  } catch (error) {
    carried.end();
    throw error;
  }
}

function closeOnAbort(tunnel: CarriedTunnel, signal: AbortSignal | undefined): void {
  // Somebody waits for `ready`, except after a failed start.
  tunnel.ready.catch(() => {});
  if (signal === undefined) return;
  const close = () => void tunnel.close();
  if (signal.aborted) close();
  signal.addEventListener('abort', close, { once: true });
  tunnel.addEventListener('closed', () => signal.removeEventListener('abort', close));
}
