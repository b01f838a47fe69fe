// Every user: the operator suspends users and grants operator rights.
import { operatorCalls } from '@underpass/rules/api/operator-calls.ts';
import type { OperatorUser, PasskeyRule } from '@underpass/rules/entity/resource.ts';
import { userList } from '@underpass/rules/list/list-page.ts';
import { MoreHorizontal } from 'lucide-react';
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { messageOf } from '../../api/error.ts';
import { later } from '../../api/later.ts';
import { Load } from '../../api/load.tsx';
import { loadPage } from '../../api/load-page.ts';
import { callApi, callFile } from '../../api/request.ts';
import { saveFile } from '../../api/save-file.ts';
import { type Confirm, useConfirm } from '../../form/use-confirm.tsx';
import { PagedList } from '../../list/paged-list.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Breakable } from '../../ui/breakable.tsx';
import { IconButton } from '../../ui/button.tsx';
import { NothingHere } from '../../ui/nothing-here.tsx';
import { Menu, MenuItem } from '../../ui/overlay/menu.tsx';
import { toast } from '../../ui/overlay/toast.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { dateColumn, menuColumn } from '../../ui/table/columns.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { TwoLines } from '../../ui/table/two-lines.tsx';
import { PasskeyRuleCard } from '../project/passkey-rule.tsx';
import { ReachList } from './user-reach.tsx';

export const loader = ({ request }: LoaderFunctionArgs) => ({
  rule: later(callApi(operatorCalls.getPasskeyRule, {}, { signal: request.signal })),
  users: loadPage(request, operatorCalls.listUsers, userList, {}),
});

export function Component() {
  const { users, rule } = useLoaderData<typeof loader>();
  const confirm = useConfirm();
  return (
    <>
      <PageHeader wide title="Users" subtitle="Suspending a user signs them out and keeps them out." />
      <PagedList
        promise={users}
        empty={<NothingHere title="No Users" text="Users appear here." />}
        label="Users"
        columns={columnsOf(confirm.ask)}
        rules={userList}
        rowKey={({ id }) => id}
        noun="users"
      />
      <div className="mt-6">
        <Load promise={rule}>{({ required }) => <OperatorPasskeys required={required} />}</Load>
      </div>
      {confirm.dialog}
    </>
  );
}

function OperatorPasskeys({ required }: PasskeyRule) {
  return (
    <PasskeyRuleCard
      label="Require a passkey of operators"
      hint="Operators need a passkey to open these pages. Commands on the server work without one."
      required={required}
      save={(next) => callApi(operatorCalls.changePasskeyRule, { payload: { required: next } })}
    />
  );
}

function columnsOf(ask: Confirm['ask']): readonly Column<OperatorUser>[] {
  return [
    {
      key: 'user',
      header: 'User',
      width: 'minmax(0, 2fr)',
      cell: (user) => <UserName user={user} />,
    },
    {
      key: 'state',
      header: 'State',
      width: '12rem',
      cell: (user) => <UserState user={user} />,
    },
    dateColumn('since', 'Joined', ({ createdAt }) => createdAt),
    menuColumn((user) => <UserMenu user={user} ask={ask} />),
  ];
}

function UserName({ user }: { readonly user: OperatorUser }) {
  const name = `${user.firstName} ${user.lastName}`.trim();
  return (
    <TwoLines isTitle second={name && <Breakable text={user.email} />}>
      <Breakable text={name || user.email} />
    </TwoLines>
  );
}

function UserState({ user }: { readonly user: OperatorUser }) {
  return (
    <span className="flex flex-wrap gap-1.5">
      <Badge tone={user.suspended ? 'danger' : 'ok'}>{user.suspended ? 'Suspended' : 'Active'}</Badge>
      {user.operator && <Badge tone="accent">Operator</Badge>}
      {user.invitedBy !== undefined && <Badge tone="neutral">Invited</Badge>}
    </span>
  );
}

function UserMenu({ user, ask }: { readonly user: OperatorUser; readonly ask: Confirm['ask'] }) {
  return (
    <Menu trigger={<IconButton label={`Actions for ${user.email}`} icon={<MoreHorizontal aria-hidden="true" />} />}>
      <MenuItem danger={!user.suspended} onClick={() => ask(suspensionQuestion(user))}>
        {user.suspended ? 'Resume' : 'Suspend'}
      </MenuItem>
      <MenuItem onClick={() => ask(operatorQuestion(user))}>
        {user.operator ? 'Revoke operator rights' : 'Make operator'}
      </MenuItem>
      {user.invitedBy !== undefined && <MenuItem onClick={() => ask(ownProjectsQuestion(user))}>Allow own projects</MenuItem>}
      <MenuItem onClick={() => void downloadData(user)}>Download data</MenuItem>
      <MenuItem danger onClick={() => ask(passkeyQuestion(user))}>
        Remove passkeys
      </MenuItem>
    </Menu>
  );
}

/** Saves the file that the user could download, for one who asks the operator. */
async function downloadData({ id, email }: OperatorUser): Promise<void> {
  try {
    saveFile(await callFile(operatorCalls.exportUser, { id }), `underpass-${email}.json`);
  } catch (error) {
    toast.failed(`The data of ${email} could not be downloaded.`, messageOf(error));
  }
}

function suspensionQuestion({ id, email, suspended }: OperatorUser) {
  const detail = <ReachList id={id} suspended={suspended} />;
  if (suspended) {
    return {
      title: 'Resume User',
      warning: `${email} can sign in again.`,
      detail,
      confirmLabel: 'Resume',
      work: () => callApi(operatorCalls.changeUser, { id, payload: { suspended: false } }),
      done: `${email} resumed.`,
    };
  }
  return {
    title: 'Suspend User',
    warning: `${email} is signed out everywhere, and their API tokens stop working. Projects that also have other owners keep working.`,
    detail,
    confirmLabel: 'Suspend',
    work: () => callApi(operatorCalls.changeUser, { id, payload: { suspended: true } }),
    done: `${email} suspended.`,
  };
}

function operatorQuestion({ id, email, operator }: OperatorUser) {
  return {
    title: operator ? 'Revoke Operator Rights' : 'Make Operator',
    warning: operator
      ? `${email} can no longer open the operator pages.`
      : `${email} can then approve, suspend and limit anyone, and make other operators.`,
    confirmLabel: operator ? 'Revoke rights' : 'Make operator',
    work: () => callApi(operatorCalls.changeUser, { id, payload: { operator: !operator } }),
    done: operator ? `${email} is no longer an operator.` : `${email} is now an operator.`,
  };
}

const ownProjectsQuestion = ({ id, email, invitedBy }: OperatorUser) => ({
  title: 'Allow Own Projects',
  warning: `An invitation from ${invitedBy} approved this account. ${email} can then create projects, and if the setting allows it, invite people who need no approval.`,
  confirmLabel: 'Allow',
  work: () => callApi(operatorCalls.changeUser, { id, payload: { ownProjects: true } }),
  done: `${email} can create projects.`,
});

const passkeyQuestion = ({ id, email }: OperatorUser) => ({
  title: 'Remove Passkeys',
  warning: `Use this if ${email} has lost their passkeys and recovery codes. Make sure that it is really them. They can sign in by email again, and sessions that used a passkey are signed out.`,
  confirmLabel: 'Remove',
  work: () => callApi(operatorCalls.removeUserPasskeys, { id }),
  done: `Passkeys of ${email} removed.`,
});
