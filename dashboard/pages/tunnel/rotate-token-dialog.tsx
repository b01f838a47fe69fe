// Creates a new token for a tunnel. The old one works for a while longer, so that clients can change over, unless the user revokes it.
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import { durations } from '@underpass/rules/limits.ts';
import { useState } from 'react';
import { useRevalidator } from 'react-router';
import { messageOf } from '../../api/error.ts';
import { callApi } from '../../api/request.ts';
import { useTask } from '../../api/use-task.ts';
import { useProject } from '../../session/session.ts';
import { Switch } from '../../ui/input/switch.tsx';
import { ConfirmDialog } from '../../ui/overlay/confirm-dialog.tsx';
import { NamedThing } from '../../ui/overlay/named-thing.tsx';
import { toast } from '../../ui/overlay/toast.tsx';
import type { TunnelDialogProps } from './delete-tunnel-dialog.tsx';

const endsLater = `Creates a new token. The old one works for ${durations.tokenOverlapHours} more hours. Then clients that still use it are disconnected.`;
const endsAtOnce =
  'Creates a new token. The old one stops working now, and its clients are disconnected until they use the new one.';

export function RotateTokenDialog({ tunnel, open, onOpenChange }: TunnelDialogProps) {
  const project = useProject();
  const { revalidate } = useRevalidator();
  const [leaked, setLeaked] = useState(false);
  const [wasOpen, setWasOpen] = useState(open);
  // Each opening starts with the safe choice.
  if (open !== wasOpen) {
    setWasOpen(open);
    if (open) setLeaked(false);
  }
  const task = useTask(async () => {
    try {
      const overlap = leaked ? '0' : undefined;
      await callApi(tunnelCalls.rotateToken, { project: project.id, name: tunnel.name, overlap });
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
      <Switch
        label="Revoke the old token immediately"
        hint="Use this if the token leaked."
        checked={leaked}
        onChange={setLeaked}
      />
    </ConfirmDialog>
  );
}
