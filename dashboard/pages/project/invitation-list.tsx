// Pending invitations.
import { projectCalls } from '@underpass/rules/api/project-calls.ts';
import type { Project } from '@underpass/rules/entity/entity.ts';
import type { Invitation } from '@underpass/rules/entity/resource.ts';
import { roleLabels } from '@underpass/rules/people/permission.ts';
import { callApi } from '../../api/request.ts';
import { askColumn } from '../../form/ask-column.tsx';
import type { Confirm } from '../../form/use-confirm.tsx';
import { Breakable } from '../../ui/breakable.tsx';
import { badgeColumn, dateColumn, titleColumn } from '../../ui/table/columns.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import type { Column } from '../../ui/table/table-view.tsx';

interface InvitationListProps {
  readonly project: Project;
  readonly invitations: readonly Invitation[];
  readonly ask: Confirm['ask'];
}

export function InvitationList({ project, invitations, ask }: InvitationListProps) {
  return (
    <section aria-labelledby="invitations" className="grid gap-3">
      <h2 id="invitations" className="text-lg font-bold">
        Pending invitations
      </h2>
      <DataTable
        label="Pending invitations"
        wide
        columns={columnsOf(project, ask)}
        rows={invitations}
        rowKey={(invitation) => invitation.id}
        searchText={({ email, role }) => `${email} ${role}`}
        noun="invitations"
      />
    </section>
  );
}

function columnsOf(project: Project, ask: Confirm['ask']): readonly Column<Invitation>[] {
  return [
    titleColumn('email', 'Email', 'minmax(0, 1.8fr)', ({ email }) => email),
    badgeColumn('role', 'Role', '8rem', ({ role }) => [roleLabels[role]]),
    { key: 'by', header: 'Invited by', cell: ({ invitedBy }) => <Breakable text={invitedBy} /> },
    dateColumn('expires', 'Expires', ({ expiresAt }) => expiresAt),
    askColumn(ask, 'Withdraw', '6.5rem', ({ id, email }) => ({
      of: `Withdraw the invitation for ${email}`,
      title: 'Withdraw Invitation',
      warning: `The link sent to ${email} stops working.`,
      confirmLabel: 'Withdraw',
      work: () => callApi(projectCalls.deleteInvitation, { project: project.id, id }),
      done: `Invitation for ${email} withdrawn.`,
    })),
  ];
}
