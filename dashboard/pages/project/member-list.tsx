// The members of a project: change a role, remove a member, leave.
import { projectCalls } from '@underpass/rules/api/project-calls.ts';
import type { Project, Role } from '@underpass/rules/entity/entity.ts';
import type { Member } from '@underpass/rules/entity/resource.ts';
import { decideMembershipChange, roleLabels, roles } from '@underpass/rules/people/permission.ts';
import { useMemo, useState } from 'react';
import { useRevalidator } from 'react-router';
import { messageOf } from '../../api/error.ts';
import { callApi } from '../../api/request.ts';
import { useTask } from '../../api/use-task.ts';
import type { Confirm } from '../../form/use-confirm.tsx';
import { paths } from '../../routing/paths.ts';
import { forgetSession } from '../../session/session.ts';
import { Badge } from '../../ui/badge.tsx';
import { Breakable } from '../../ui/breakable.tsx';
import { Button } from '../../ui/button.tsx';
import { Select } from '../../ui/input/select.tsx';
import { toast } from '../../ui/overlay/toast.tsx';
import { buttonColumn, dateColumn } from '../../ui/table/columns.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import type { Column } from '../../ui/table/table-view.tsx';

interface MemberListProps {
  readonly project: Project;
  readonly members: readonly Member[];
  readonly ask: Confirm['ask'];
}

interface MemberContext {
  readonly project: Project;
  readonly ownerCount: number;
  readonly ask: Confirm['ask'];
}

export function MemberList({ project, members, ask }: MemberListProps) {
  const ownerCount = members.filter((member) => member.role === 'owner').length;
  // biome-ignore lint/correctness/useExhaustiveDependencies: ask is a new function on every render but does the same.
  const columns = useMemo(() => columnsOf({ project, ownerCount, ask }), [project, ownerCount]);
  return (
    <DataTable
      label="Members"
      columns={columns}
      rows={members}
      rowKey={(member) => member.id}
      searchText={({ email, firstName, lastName, role }) => `${firstName} ${lastName} ${email} ${role}`}
      noun="members"
      initialSort={{ key: 'name', direction: 'ascending' }}
    />
  );
}

function columnsOf(context: MemberContext): readonly Column<Member>[] {
  return [
    {
      key: 'name',
      header: 'Name',
      width: 'minmax(0, 1.8fr)',
      cell: (member) => <MemberName member={member} />,
      sortBy: nameOf,
    },
    {
      key: 'role',
      header: 'Role',
      width: '10rem',
      cell: (member) => <RoleCell member={member} context={context} />,
      sortBy: (member) => roles.indexOf(member.role),
    },
    dateColumn('since', 'Member since', (member) => member.since),
    buttonColumn('Remove', '6.5rem', (member) => <RemoveButton member={member} context={context} />),
  ];
}

const nameOf = ({ firstName, lastName, email }: Member) => `${firstName} ${lastName}`.trim() || email;

function MemberName({ member }: { readonly member: Member }) {
  const name = nameOf(member);
  return (
    <span className="grid">
      <span className="flex flex-wrap items-center gap-2 font-semibold">
        <span>
          <Breakable text={name} />
        </span>
        {member.isSelf && <Badge>You</Badge>}
      </span>
      {name !== member.email && (
        <span className="text-sm text-ink-soft wrap-anywhere">
          <Breakable text={member.email} />
        </span>
      )}
    </span>
  );
}

/** The roles that the reader can give this member, with the current one. */
function possibleRoles(member: Member, { project, ownerCount }: MemberContext): readonly Role[] {
  const change = { actor: project.role, isSelf: member.isSelf, from: member.role, ownerCount };
  return roles.filter((role) => role === member.role || decideMembershipChange({ ...change, to: role }).ok);
}

function RoleCell({ member, context }: { readonly member: Member; readonly context: MemberContext }) {
  const { revalidate } = useRevalidator();
  const possible = possibleRoles(member, context);
  /** Shown until the reloaded list has it. */
  const [chosen, setChosen] = useState<{ readonly instead: Member; readonly role: Role }>();
  const task = useTask(async (role: Role) => {
    setChosen({ instead: member, role });
    try {
      await callApi(projectCalls.changeMember, { project: context.project.id, id: member.id, payload: { role } });
      toast.done(`${nameOf(member)} is now ${roleLabels[role].toLowerCase()}.`);
    } catch (error) {
      setChosen(undefined);
      toast.failed('The role could not be changed.', messageOf(error));
    }
    if (member.isSelf) forgetSession();
    await revalidate();
  });
  const shown = chosen?.instead === member ? chosen.role : member.role;
  if (possible.length < 2) return <Badge>{roleLabels[member.role]}</Badge>;
  return (
    <Select
      label={`Role of ${nameOf(member)}`}
      size="sm"
      value={shown}
      options={possible.map((role) => ({ value: role, label: roleLabels[role] }))}
      onChange={(role) => role !== shown && task.run(role)}
    />
  );
}

function RemoveButton({ member, context }: { readonly member: Member; readonly context: MemberContext }) {
  const { project, ownerCount, ask } = context;
  const { role, isSelf } = member;
  if (!decideMembershipChange({ actor: project.role, isSelf, from: role, to: null, ownerCount }).ok) return null;
  const remove = async () => {
    await callApi(projectCalls.removeMember, { project: project.id, id: member.id });
    if (isSelf) forgetSession();
  };
  const question = isSelf
    ? {
        title: 'Leave Project',
        warning: `You lose access to ‘${project.name}’ and everything in it.`,
        confirmLabel: 'Leave',
        leadsTo: paths.home(),
      }
    : {
        title: 'Remove Member',
        warning: `${nameOf(member)} (${member.email}) loses access to ‘${project.name}’. The API tokens they created stop working.`,
        confirmLabel: 'Remove',
      };
  const done = isSelf ? `You left ‘${project.name}’.` : `${nameOf(member)} removed.`;
  return (
    <Button
      size="sm"
      aria-label={isSelf ? `Leave ${project.name}` : `Remove ${nameOf(member)}`}
      onClick={() => ask({ ...question, work: remove, done })}
    >
      {isSelf ? 'Leave' : 'Remove'}
    </Button>
  );
}
