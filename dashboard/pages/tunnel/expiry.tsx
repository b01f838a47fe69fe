// Tells when a quick tunnel is deleted, and keeps it.
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { may } from '@underpass/rules/people/permission.ts';
import { expiryText, keepLabel, temporaryLabel } from '@underpass/rules/tunnel/tunnel-expiry.ts';
import { useRevalidator } from 'react-router';
import { messageOf } from '../../api/error.ts';
import { callApi } from '../../api/request.ts';
import { useTask } from '../../api/use-task.ts';
import { useProject } from '../../session/session.ts';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { formatDateTime } from '../../ui/date/date-format.ts';
import { toast } from '../../ui/overlay/toast.tsx';

export function Expiry({ tunnel }: { readonly tunnel: Tunnel }) {
  const project = useProject();
  const { revalidate } = useRevalidator();
  const task = useTask(async () => {
    try {
      await callApi(tunnelCalls.keepTunnel, { project: project.id, name: tunnel.name });
      toast.done(`Tunnel ${tunnel.name} is kept.`);
      await revalidate();
    } catch (error) {
      console.error('Keeping the tunnel failed', error);
      toast.failed(`Tunnel ${tunnel.name} is not kept.`, messageOf(error));
    }
  });
  const keep = may(project.role, 'tunnel.update') && (
    <Button busy={task.busy} onClick={task.run}>
      {keepLabel}
    </Button>
  );
  return (
    <Banner title={temporaryLabel} action={keep}>
      {expiryText(tunnel.endsAt && formatDateTime(tunnel.endsAt, 'short').text)}.
    </Banner>
  );
}
