// Gives a tunnel a new token; the old one goes on working for a while, so that clients can be moved over.
import { durations } from '@underpass/rules/limits.ts';
import { useRevalidator } from 'react-router';
import { messageOf } from '../../api/error.ts';
import { rotateTunnelToken } from '../../api/tunnels.ts';
import { useTask } from '../../api/use-task.ts';
import { useProject } from '../../session.ts';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { NamedThing } from '../../ui/named-thing.tsx';
import { toast } from '../../ui/toast.tsx';
import type { TunnelDialogProps } from './delete-tunnel-dialog.tsx';

export function RotateTokenDialog({ tunnel, open, onOpenChange }: TunnelDialogProps) {
  const project = useProject();
  const { revalidate } = useRevalidator();
  const task = useTask(async () => {
    try {
      await rotateTunnelToken(project.id, tunnel.name);
      toast.done(`Token of ${tunnel.name} rotated.`, 'Give the new token to your clients.');
      await revalidate();
    } catch (error) {
      console.error('Token rotation failed', error);
      toast.failed(`Token of ${tunnel.name} was not rotated.`, messageOf(error));
    }
    onOpenChange(false);
  });
  return (
    <ConfirmDialog
      open={open}
      onOpenChange={onOpenChange}
      title="Rotate Token"
      warning={`A new token is made. The old one goes on working for ${durations.tokenOverlapHours} hours; clients that still use it are then disconnected.`}
      confirmLabel="Rotate"
      busy={task.busy}
      onConfirm={task.run}
    >
      <NamedThing name={tunnel.name} />
    </ConfirmDialog>
  );
}
