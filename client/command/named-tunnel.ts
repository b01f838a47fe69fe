// Entries of a configuration file without URL and token: tunnels of the signed-in person, looked up by name as `connect` does.
import { openProject } from '../account/account.ts';
import type { NamedTunnel, TunnelConfig } from '../config/tunnel-config.ts';
import { ClientError } from '../process/error.ts';
import type { CommonFlags, Shell } from './command-line.ts';
import { requireConnectable } from './connect.ts';
import { fetchTunnel } from './tunnels.ts';

/** One after the other: a long file must not be a burst of calls at the server. */
export async function lookUpTunnels(
  { io }: Shell,
  entries: readonly NamedTunnel[],
  flags: CommonFlags,
): Promise<ReadonlyMap<NamedTunnel, TunnelConfig>> {
  const account = await openProject(io, flags);
  const found = new Map<NamedTunnel, TunnelConfig>();
  for (const entry of entries) {
    const { type, url, token } = requireConnectable(await fetchTunnel(account, entry.name));
    const wanted = entry.upstreams.type;
    if (type !== wanted) {
      const fix = `Write "type: ${type}" and upstreams of that type.`;
      throw new ClientError('config-invalid', `tunnel ${entry.name} is of type ${type}, not ${wanted}`, { fix });
    }
    found.set(entry, { ...entry, url, token: { kind: 'value', token } });
  }
  return found;
}
