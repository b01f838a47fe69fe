// Deletes a tunnel (spec 2, Delete dialog). A failure is logged, closes the dialog (spec 8) and shows a toast.
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { durations } from '@underpass/rules/limits.ts';
import { text } from '@underpass/rules/text/text.ts';
import { messageOf } from '../../api/error.ts';
import { callApi } from '../../api/request.ts';
import { useNavigateOrReload } from '../../api/use-navigate-or-reload.ts';
import { useTask } from '../../api/use-task.ts';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { ConfirmDialog } from '../../ui/overlay/confirm-dialog.tsx';
import { NamedThing } from '../../ui/overlay/named-thing.tsx';
import { toast } from '../../ui/overlay/toast.tsx';

export interface TunnelDialogProps {
  readonly tunnel: Tunnel;
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
}

export function DeleteTunnelDialog({ tunnel, open, onOpenChange }: TunnelDialogProps) {
  const project = useProject();
  const navigateOrReload = useNavigateOrReload();
  const task = useTask(async () => {
    try {
      await callApi(tunnelCalls.deleteTunnel, { project: project.id, name: tunnel.name });
      toast.done(`Tunnel ${tunnel.name} deleted.`);
      await navigateOrReload(paths.tunnels(project.id));
    } catch (error) {
      console.error('Tunnel delete failed', error);
      toast.failed(`Tunnel ${tunnel.name} was not deleted.`, messageOf(error));
      onOpenChange(false);
    }
  });
  return (
    <ConfirmDialog
      open={open}
      onOpenChange={onOpenChange}
      title={text.tunnels.deleteTitle}
      warning={text.tunnels.deleteWarning}
      confirmLabel="Delete"
      busy={task.busy}
      onConfirm={task.run}
    >
      <NamedThing name={tunnel.name} />
      {tunnel.port !== undefined && (
        <p>
          No other project gets port {tunnel.port} for {durations.portRestDays} days. A new tunnel of this name gets it again.
        </p>
      )}
    </ConfirmDialog>
  );
}
