// Entries of a configuration file without URL and token: tunnels of the signed-in person, looked up by name as `connect` does.
import type { TunnelType } from '@underpass/rules/tunnel/tunnel-type.ts';
import { openProject } from '../account/account.ts';
import { fetchTunnel, requireConnectable } from '../account/connectable.ts';
import type { NamedTunnel, TunnelConfig } from '../config/tunnel-config.ts';
import { ClientError } from '../process/error.ts';
import type { CommonFlags, Shell } from './command-line.ts';

/** One after the other: a long file must not be a burst of calls at the server. */
export async function lookUpTunnels(
  { io }: Shell,
  entries: readonly NamedTunnel[],
  flags: CommonFlags,
): Promise<ReadonlyMap<NamedTunnel, TunnelConfig>> {
  const account = await openProject(io, flags);
  const found = new Map<NamedTunnel, TunnelConfig>();
  for (const entry of entries) {
    const { type, url, token } = requireConnectable(await fetchTunnel(account, entry.name).catch(namedIn(entry)));
    const wanted = entry.upstreams.type;
    if (type !== wanted) {
      const fix = `Write "type: ${type}" and upstreams of that type.`;
      throw new ClientError('config-invalid', `tunnel ${entry.name} is of type ${type}, not ${wanted}`, { fix });
    }
    found.set(entry, { ...entry, url, token: { kind: 'value', token } });
  }
  return found;
}

const makingOptions: Readonly<Record<TunnelType, string>> = {
  http: '--generate-domain',
  ingress: '--type ingress --domain NAME',
  tcp: '--type tcp',
};

/** The server's text names no tunnel, and a file has several. */
const namedIn =
  ({ name, upstreams }: NamedTunnel) =>
  (error: unknown): never => {
    if (!(error instanceof ClientError) || error.code !== 'not-found') throw error;
    const domain = makingOptions[upstreams.type];
    const fix = `Run "underpass tunnels add ${name} ${domain}", or check --project and --server.`;
    throw new ClientError('not-found', `there is no tunnel ${name} in your project`, { fix, cause: error });
  };
