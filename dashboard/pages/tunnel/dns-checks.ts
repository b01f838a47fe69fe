// Compares the addresses of a tunnel's domains with the data plane's (spec 4, Tunnel domain DNS).
import { domainCalls } from '@underpass/rules/api/domain-calls.ts';
import { decideDnsCheck } from '@underpass/rules/dns-record.ts';
import type { DnsCheck, Tunnel } from '@underpass/rules/entity.ts';
import { callApi } from '../../api/request.ts';
import { useFetched } from '../../api/use-fetched.ts';

export interface DnsChecks {
  /** By ingress domain; a name that is not checked yet is missing. */
  readonly byName: ReadonlyMap<string, DnsCheck>;
  readonly dataPlaneIps: readonly string[];
  readonly busy: boolean;
  readonly reload: () => void;
}

type CheckedTunnel = Pick<Tunnel, 'dataPlaneHost' | 'ingressDomains'>;

interface Addresses {
  readonly dataPlane: readonly string[];
  readonly byName: ReadonlyMap<string, readonly string[]>;
}

/** Looks up only names with an apexName: we serve the DNS of generated names. */
export function useDnsChecks(tunnel: CheckedTunnel): DnsChecks {
  const names = tunnel.ingressDomains.filter(({ apexName }) => apexName !== '').map(({ name }) => name);
  const key = [tunnel.dataPlaneHost, ...names].join(' ');
  const { data, busy, reload } = useFetched(key, (signal) => lookUpAll(tunnel.dataPlaneHost, names, signal));
  const byName = new Map([...(data?.byName ?? [])].map(([name, ips]) => [name, decideDnsCheck(ips, data!.dataPlane)]));
  return { byName, dataPlaneIps: data?.dataPlane ?? [], busy, reload };
}

async function lookUpAll(dataPlaneHost: string, names: readonly string[], signal: AbortSignal): Promise<Addresses> {
  const [dataPlane, ...lists] = await Promise.all([dataPlaneHost, ...names].map((host) => addressesOf(host, signal)));
  return { dataPlane: dataPlane ?? [], byName: new Map(names.map((name, index) => [name, lists[index] ?? []])) };
}

/** A failed look-up counts as no addresses: the badge then says No DNS, and Refresh tries again. */
async function addressesOf(host: string, signal: AbortSignal): Promise<readonly string[]> {
  try {
    return (await callApi(domainCalls.lookUpDns, { host }, { signal })).ips;
  } catch (error) {
    if (signal.aborted) throw error;
    console.error(`DNS look-up of ${host} failed`, error);
    return [];
  }
}
