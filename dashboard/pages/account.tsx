// The user's account: their sessions, and deleting the account.
import { accountCalls } from '@underpass/rules/api/account-calls.ts';
import type { Session } from '@underpass/rules/resource.ts';
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { later } from '../api/later.ts';
import { callApi } from '../api/request.ts';
import { DeleteCard } from '../form/delete-card.tsx';
import { type Confirm, useConfirm } from '../form/use-confirm.tsx';
import { paths } from '../routing/paths.ts';
import { useShell } from '../session/session.ts';
import { Badge } from '../ui/badge.tsx';
import { Breakable } from '../ui/breakable.tsx';
import { Button } from '../ui/button.tsx';
import { Card } from '../ui/card.tsx';
import { buttonColumn, dateColumn } from '../ui/columns.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { Load } from '../ui/load.tsx';
import { PageHeader } from '../ui/page-header.tsx';
import { describeUserAgent } from './user-agent.ts';

export const loader = ({ request }: LoaderFunctionArgs) => ({
  sessions: later(callApi(accountCalls.listSessions, {}, { signal: request.signal })),
});

export function Component() {
  const { sessions } = useLoaderData<typeof loader>();
  const { user } = useShell();
  const confirm = useConfirm();
  return (
    <>
      <PageHeader title="Account" subtitle={<Breakable text={user.email} />} />
      <div className="grid gap-6">
        <Card title="Sessions" description="Where you are signed in. Revoke any session you don't recognise." flush>
          <div className="border-t">
            <Load promise={sessions}>{(loaded) => <SessionList sessions={loaded} ask={confirm.ask} />}</Load>
          </div>
        </Card>
        <DeleteAccount email={user.email} ask={confirm.ask} />
      </div>
      {confirm.dialog}
    </>
  );
}

function DeleteAccount({ email, ask }: { readonly email: string; readonly ask: Confirm['ask'] }) {
  return (
    <DeleteCard
      what="Account"
      description="Erases your name, email address, sessions and tokens. Audit logs keep your actions, without your name."
      warning={`Warning! ${email} will no longer be able to sign in. Projects without other members are deleted, with their tunnels, domains, security groups and tokens.`}
      proof={{ label: 'Type your email address to confirm', text: email }}
      remove={(typed) => callApi(accountCalls.deleteAccount, { payload: { email: typed } })}
      done="Account deleted."
      leadsTo={paths.login()}
      ask={ask}
    />
  );
}

function SessionList({ sessions, ask }: { readonly sessions: readonly Session[]; readonly ask: Confirm['ask'] }) {
  const columns: readonly Column<Session>[] = [
    { key: 'device', header: 'Device', width: 'minmax(0, 1.5fr)', cell: (session) => <DeviceCell session={session} /> },
    {
      key: 'address',
      header: 'Address',
      cell: (session) => <span className="font-mono text-sm">{session.address}</span>,
      sortBy: (session) => session.address,
    },
    dateColumn('seen', 'Last seen', (session) => session.seenAt),
    dateColumn('created', 'Signed in', (session) => session.createdAt),
    buttonColumn('Revoke', '6rem', (session) => !session.isCurrent && <RevokeButton session={session} ask={ask} />),
  ];
  return (
    <DataTable
      label="Sessions"
      wide
      columns={columns}
      rows={sessions}
      rowKey={(session) => session.id}
      searchText={({ address, userAgent }) => `${address} ${userAgent}`}
      noun="sessions"
      initialSort={{ key: 'seen', direction: 'descending' }}
      bare
    />
  );
}

function DeviceCell({ session }: { readonly session: Session }) {
  return (
    <span className="flex flex-wrap items-center gap-2">
      <span className="font-semibold" title={session.userAgent}>
        {describeUserAgent(session.userAgent)}
      </span>
      {session.isCurrent && <Badge tone="ok">This session</Badge>}
    </span>
  );
}

function RevokeButton({ session, ask }: { readonly session: Session; readonly ask: Confirm['ask'] }) {
  const device = describeUserAgent(session.userAgent);
  const revoke = () =>
    ask({
      title: 'Revoke Session',
      warning: `${device} at ${session.address} is signed out immediately.`,
      confirmLabel: 'Revoke',
      work: () => callApi(accountCalls.deleteSession, { id: session.id }),
      done: 'Session revoked.',
    });
  return (
    <Button size="sm" onClick={revoke} aria-label={`Revoke ${device} at ${session.address}`}>
      Revoke
    </Button>
  );
}
