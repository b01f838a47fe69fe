// The public address of a tunnel that uses the policy, for examples and for the test.
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import { firstAddress } from '@underpass/rules/names/hostname.ts';
import { callApi } from '../../api/request.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { useProject } from '../../session/session.ts';

/** Undefined while it loads, and where no tunnel with an address uses the policy. */
export function useFirstAddress(tunnels: readonly string[]): string | undefined {
  const project = useProject().id;
  const [name] = tunnels;
  const { data } = useFetched({
    key: `address ${project} ${name}`,
    fetch: async (signal) =>
      name && firstAddress((await callApi(tunnelCalls.getTunnel, { project, name }, { signal })).ingressDomains ?? [])?.url,
  });
  return data;
}
