// The tunnel that `listen` and `forward` carry: a quick one, one of the project by its name, or one by its URL and token.

import { openProject } from '../account/account.ts';
import { fetchTunnel, isServed, requireConnectable, requireVerified, verifiedUrls } from '../account/connectable.ts';
import { parseToken } from '../config/token.ts';
import { parseTunnelUrl } from '../config/tunnel-config.ts';
import { ClientError, orUsage } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import { openQuickTunnel, parseFor, type QuickTunnel, quickDrainMs } from '../quick/quick-tunnel.ts';
import type { Readiness } from '../tunnels/readiness.ts';
import type { Source } from './options.ts';
import type { NamedOptions, QuickOptions, TokenOptions } from './underpass.d.ts';

export interface OpenSource {
  readonly name: string;
  /** The name is not known before the region tells it. */
  readonly isUnnamed?: boolean;
  readonly url: string;
  readonly token: string;
  readonly readiness: Readiness;
  readonly drainMs?: number;
  readonly steer?: QuickTunnel['steer'];
  /** Deletes what was made for this tunnel. */
  readonly end: () => Promise<void>;
}

export function openSource(io: Io, source: Source): Promise<OpenSource> {
  switch (source.kind) {
    case 'quick':
      return openQuick(io, source.options);
    case 'named':
      return openNamed(io, source.options);
    case 'token':
      return openGiven(source.options);
  }
}

async function openQuick(io: Io, { server, project, domain, for: lasting, ...rest }: QuickOptions): Promise<OpenSource> {
  const lastsSeconds = parseFor(lasting);
  const account = await openProject(io, accountOf(server, project));
  const domains = domain === undefined ? {} : { domain: typeof domain === 'string' ? [domain] : domain };
  const quick = await openQuickTunnel(io, { account, folder: io.cwd, lastsSeconds }, { ...rest, ...domains });
  const end = async () => {
    if (quick.tunnel.expiresAt !== undefined) await quick.remove();
    await quick.release();
  };
  try {
    requireVerified(quick.tunnel);
  } catch (error) {
    await end();
    throw error;
  }
  const { name, url, token = '' } = quick.tunnel;
  return { name, url, token, readiness: quick.readiness, drainMs: quickDrainMs, steer: quick.steer, end };
}

async function openNamed(io: Io, { server, project, tunnel: wanted }: NamedOptions): Promise<OpenSource> {
  const account = await openProject(io, accountOf(server, project));
  const tunnel = requireConnectable(await fetchTunnel(account, wanted));
  if (tunnel.type !== 'http')
    throw new ClientError('usage', `${tunnel.name} is an ${tunnel.type} tunnel`, { fix: 'Name an http tunnel.' });
  const { name, url, token } = tunnel;
  const readiness = { wanted: verifiedUrls(tunnel), isServed: isServed(tunnel, () => fetchTunnel(account, name)) };
  return { name, url, token, readiness, end: async () => {} };
}

async function openGiven({ url, token }: TokenOptions): Promise<OpenSource> {
  const parsed = orUsage(parseTunnelUrl(String(url)));
  const name = new URL(parsed).hostname;
  return {
    ...{ name, isUnnamed: true, url: parsed, token: parseToken(String(token), "option 'token'") },
    readiness: {},
    end: async () => {},
  };
}

const accountOf = (server: string | undefined, project: string | undefined) => ({
  ...(server === undefined ? {} : { server }),
  ...(project === undefined ? {} : { project }),
});
