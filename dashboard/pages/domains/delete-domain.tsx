// Deletes a domain. A failure shows the response text with its first letter capitalised (spec 8).
import { domainCalls } from '@underpass/rules/api/domain-calls.ts';
import type { Domain } from '@underpass/rules/entity/entity.ts';
import { capitaliseFirst, text } from '@underpass/rules/text/text.ts';
import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import { messageOf } from '../../api/error.ts';
import { callApi } from '../../api/request.ts';
import { useNavigateOrReload } from '../../api/use-navigate-or-reload.ts';
import { useTask } from '../../api/use-task.ts';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/overlay/confirm-dialog.tsx';
import { NamedThing } from '../../ui/overlay/named-thing.tsx';
import { toast } from '../../ui/overlay/toast.tsx';

export function DeleteDomain({ domain }: { readonly domain: Domain }) {
  const project = useProject();
  const navigateOrReload = useNavigateOrReload();
  const [open, setOpen] = useState(false);
  const task = useTask(async () => {
    await callApi(domainCalls.deleteDomain, { project: project.id, apexName: domain.apexName });
    toast.done(`Domain ${domain.apexName} deleted.`);
    await navigateOrReload(paths.domains(project.id));
  });
  const onOpenChange = (opens: boolean) => {
    task.dismiss();
    setOpen(opens);
  };
  return (
    <>
      <Button icon={<Trash2 aria-hidden="true" />} onClick={() => onOpenChange(true)}>
        Delete
      </Button>
      <ConfirmDialog
        open={open}
        onOpenChange={onOpenChange}
        title="Delete Domain"
        warning="The project loses this domain. To use it again, you must verify it again."
        confirmLabel="Delete"
        busy={task.busy}
        onConfirm={task.run}
      >
        <NamedThing name={domain.apexName} />
        {task.error !== undefined && (
          <Banner tone="danger">{capitaliseFirst(messageOf(task.error) ?? text.error.fallback)}</Banner>
        )}
      </ConfirmDialog>
    </>
  );
}
