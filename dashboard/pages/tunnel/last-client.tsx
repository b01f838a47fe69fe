// When a client was last connected, and what last kept one from working.
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { clientErrors } from '@underpass/rules/tunnel/client-error.ts';
import { askFor } from '../../api/answers.ts';
import { every, useAgain, useReload } from '../../api/use-again.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { TimeAgo } from '../../ui/date/date-time.tsx';

/** The interval; a refresh also renews how long ago it was. */
const refreshes = every(15_000);

export const askLastClient = (project: string, name: string) =>
  askFor(tunnelCalls.getLastClient, { project, name }, { background: true });

/** Shows nothing until it is known: it must not push anything down. */
export function LastClientNote({ project, tunnel }: { readonly project: string; readonly tunnel: Tunnel }) {
  const { data, reload } = useFetched(askLastClient(project, tunnel.name));
  useReload(tunnel.connectedClients, reload);
  useAgain(reload, refreshes);
  const seen = tunnel.connectedClients === 0 ? data?.seen : null;
  if (!seen && !data?.error) return null;
  return (
    <div className="grid gap-1 border-t px-4 py-3 text-sm text-ink-soft sm:px-5">
      {seen && (
        <p>
          Last seen <TimeAgo at={seen.at} /> from <span className="font-mono">{seen.address}</span>.
        </p>
      )}
      {data?.error && (
        <p>
          Last error: {clientErrors[data.error.code]}, <TimeAgo at={data.error.at} />, client at{' '}
          <span className="font-mono">{data.error.address}</span>.
        </p>
      )}
    </div>
  );
}
