// Asks before it forgets every request.
import { CSPProvider } from '@base-ui/react/csp-provider';
import { useTask } from '../../api/use-task.ts';
import { Banner } from '../../ui/banner.tsx';
import { ConfirmDialog } from '../../ui/overlay/confirm-dialog.tsx';
import { countOf } from '../core/format.ts';

interface ClearDialogProps {
  readonly count: number;
  readonly onClose: () => void;
  readonly work: () => Promise<void>;
}

export function ClearDialog({ count, onClose, work }: ClearDialogProps) {
  const task = useTask(async () => {
    await work();
    onClose();
  });
  return (
    <CSPProvider disableStyleElements>
      <ConfirmDialog
        open
        onOpenChange={(open) => open || onClose()}
        title="Clear the list"
        warning={`The client forgets ${countOf(count, 'request')} with headers and bodies. Open requests continue.`}
        confirmLabel="Clear"
        busy={task.busy}
        onConfirm={task.run}
      >
        {task.error !== undefined && <Banner tone="danger">{(task.error as Error).message}</Banner>}
      </ConfirmDialog>
    </CSPProvider>
  );
}
