// Gives a tunnel a new token; the old one goes on working for a while, so that clients can be moved over, unless it leaked.
import { durations } from '@underpass/rules/limits.ts';
import { useState } from 'react';
import { useRevalidator } from 'react-router';
import { messageOf } from '../../api/error.ts';
import { rotateTunnelToken } from '../../api/tunnels.ts';
import { useTask } from '../../api/use-task.ts';
import { useProject } from '../../session/session.ts';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { NamedThing } from '../../ui/named-thing.tsx';
import { Switch } from '../../ui/switch.tsx';
import { toast } from '../../ui/toast.tsx';
import type { TunnelDialogProps } from './delete-tunnel-dialog.tsx';

const endsLater = `A new token is made. The old one goes on working for ${durations.tokenOverlapHours} hours; clients that still use it are then disconnected.`;
const endsAtOnce = 'A new token is made. The old one ends now, and its clients are disconnected until they have the new one.';

export function RotateTokenDialog({ tunnel, open, onOpenChange }: TunnelDialogProps) {
  const project = useProject();
  const { revalidate } = useRevalidator();
  const [leaked, setLeaked] = useState(false);
  const [wasOpen, setWasOpen] = useState(open);
  // Asked anew, it is the gentle way again.
  if (open !== wasOpen) {
    setWasOpen(open);
    if (open) setLeaked(false);
  }
  const task = useTask(async () => {
    try {
      await rotateTunnelToken(project.id, tunnel.name, { overlap: !leaked });
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
      warning={leaked ? endsAtOnce : endsLater}
      confirmLabel="Rotate"
      busy={task.busy}
      onConfirm={task.run}
    >
      <NamedThing name={tunnel.name} />
      <Switch label="End the old token at once" hint="For a token that leaked." checked={leaked} onChange={setLeaked} />
    </ConfirmDialog>
  );
}
