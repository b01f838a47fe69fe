// The members of a project and its pending invitations.
import { projectCalls } from '@underpass/rules/api/project-calls.ts';
import type { Invitation, Member } from '@underpass/rules/entity/resource.ts';
import { may } from '@underpass/rules/people/permission.ts';
import { UserPlus } from 'lucide-react';
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { later } from '../../api/later.ts';
import { Load } from '../../api/load.tsx';
import { callApi } from '../../api/request.ts';
import { useConfirm } from '../../form/use-confirm.tsx';
import { inviteParam } from '../../routing/paths.ts';
import { useLinkedPanel } from '../../routing/use-linked-panel.ts';
import { MayNot } from '../../session/may-not.tsx';
import { projectOfScreen, requireSession, useProject } from '../../session/session.ts';
import { Button } from '../../ui/button.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { InvitationList } from './invitation-list.tsx';
import { InvitePanel } from './invite-panel.tsx';
import { MemberList } from './member-list.tsx';

interface People {
  readonly members: readonly Member[];
  readonly invitations: readonly Invitation[];
}

export function loader({ params, request }: LoaderFunctionArgs) {
  return { people: later(loadPeople(params.projectID!, request)) };
}

/** Only members who may read invitations load them. */
async function loadPeople(projectId: string, request: Request): Promise<People> {
  const { signal } = request;
  const role = projectOfScreen(await requireSession(request), projectId)?.role;
  const [members, invitations] = await Promise.all([
    callApi(projectCalls.listMembers, { project: projectId }, { signal }),
    role && may(role, 'invitation.read') ? callApi(projectCalls.listInvitations, { project: projectId }, { signal }) : [],
  ]);
  return { members, invitations };
}

export function Component() {
  const { people } = useLoaderData<typeof loader>();
  const project = useProject();
  const invite = useLinkedPanel(inviteParam);
  const confirm = useConfirm();
  const mayInvite = may(project.role, 'invitation.create');
  return (
    <>
      <PageHeader
        wide
        title="Members"
        subtitle={`The people in ‘${project.name}’ and their roles.`}
        actions={mayInvite && <InviteButton onClick={() => invite.setOpen(true)} />}
      />
      {!mayInvite && invite.isOpen && <MayNot action="invitation.create" />}
      <Load promise={people}>
        {({ members, invitations }) => (
          <div className="grid gap-10">
            <MemberList project={project} members={members} ask={confirm.ask} />
            {invitations.length > 0 && <InvitationList project={project} invitations={invitations} ask={confirm.ask} />}
          </div>
        )}
      </Load>
      {mayInvite && <InvitePanel project={project} open={invite.isOpen} onOpenChange={invite.setOpen} />}
      {confirm.dialog}
    </>
  );
}

function InviteButton({ onClick }: { readonly onClick: () => void }) {
  return (
    <Button variant="primary" icon={<UserPlus aria-hidden="true" />} onClick={onClick}>
      Invite
    </Button>
  );
}
