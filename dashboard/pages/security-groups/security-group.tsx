// One security group: its rules, and its deletion, which is this route's action (spec 2, Security group detail).
import { securityGroupCalls } from '@underpass/rules/api/security-group-calls.ts';
import type { SecurityGroup } from '@underpass/rules/entity/entity.ts';
import { may } from '@underpass/rules/people/permission.ts';
import { mayDeleteSecurityGroup } from '@underpass/rules/text/security-group-name.ts';
import { text } from '@underpass/rules/text/text.ts';
import { Trash2 } from 'lucide-react';
import { useEffect, useState } from 'react';
import { type ActionFunctionArgs, type LoaderFunctionArgs, redirect, useFetcher, useLoaderData, useParams } from 'react-router';
import { messageOf } from '../../api/error.ts';
import { later } from '../../api/later.ts';
import { Load } from '../../api/load.tsx';
import { callApi } from '../../api/request.ts';
import { getSecurityGroup } from '../../api/security-groups.ts';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/overlay/confirm-dialog.tsx';
import { NamedThing } from '../../ui/overlay/named-thing.tsx';
import { toast } from '../../ui/overlay/toast.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { AllowListForm } from './allow-list-form.tsx';

export function loader({ params, request }: LoaderFunctionArgs) {
  return { group: later(getSecurityGroup(params.projectID!, params.securityGroup!, request.signal)) };
}

/** Deletes the group. A failure is returned, not thrown: the page stays. */
export async function action({ params }: ActionFunctionArgs) {
  const project = params.projectID!;
  const name = params.securityGroup!;
  try {
    await callApi(securityGroupCalls.deleteSecurityGroup, { project, name });
  } catch (error) {
    return { failure: messageOf(error) ?? text.error.fallback };
  }
  toast.done(`Security group ${name} deleted.`);
  return redirect(paths.securityGroups(project));
}

export function Component() {
  const { group } = useLoaderData<typeof loader>();
  const { securityGroup = '' } = useParams();
  const back = paths.securityGroups(useProject().id);
  const header = <PageHeader title={securityGroup} back={back} />;
  return (
    <Load
      promise={group}
      fallbackHeader={header}
      failedHeader={header}
      thing={{ name: securityGroup, list: back, listLabel: 'Security groups' }}
    >
      {(loaded) => <GroupView group={loaded} back={back} />}
    </Load>
  );
}

function GroupView({ group, back }: { readonly group: SecurityGroup; readonly back: string }) {
  const project = useProject();
  return (
    <>
      <PageHeader
        title={group.name}
        back={back}
        subtitle={text.groups.assigned(group.assignmentCount)}
        actions={
          mayDeleteSecurityGroup(group.name) && may(project.role, 'security-group.delete') && <DeleteGroup group={group} />
        }
      />
      <AllowListForm group={group} readOnly={!may(project.role, 'security-group.update')} />
    </>
  );
}

function DeleteGroup({ group }: { readonly group: SecurityGroup }) {
  const [open, setOpen] = useState(false);
  const fetcher = useFetcher<{ readonly failure: string }>();
  const [dismissed, setDismissed] = useState<unknown>();
  const failed = fetcher.data !== dismissed ? fetcher.data : undefined;
  useEffect(() => {
    if (failed) setOpen(false);
  }, [failed]);
  return (
    <>
      <Button icon={<Trash2 aria-hidden="true" />} onClick={() => setOpen(true)}>
        Delete
      </Button>
      {failed && (
        <Banner
          tone="danger"
          title="The security group was not deleted."
          onDismiss={() => setDismissed(failed)}
          className="order-first basis-full"
        >
          {failed.failure}
        </Banner>
      )}
      <ConfirmDialog
        open={open}
        onOpenChange={setOpen}
        title={text.groups.deleteTitle}
        warning={text.groups.deleteWarning}
        confirmLabel="Delete"
        busy={fetcher.state !== 'idle'}
        onConfirm={() => fetcher.submit(null, { method: 'DELETE' })}
      >
        <NamedThing name={group.name} />
      </ConfirmDialog>
    </>
  );
}
