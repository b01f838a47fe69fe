// The user's account: their sessions and tokens, their data as a file, and deleting the account.
import { accountCalls } from '@underpass/rules/api/account-calls.ts';
import { passkeyCalls } from '@underpass/rules/api/passkey-calls.ts';
import type { OwnToken, Session } from '@underpass/rules/entity/resource.ts';
import { roleLabels } from '@underpass/rules/people/permission.ts';
import { describeUserAgent } from '@underpass/rules/text/user-agent.ts';
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { messageOf } from '../api/error.ts';
import { later } from '../api/later.ts';
import { Load } from '../api/load.tsx';
import { callApi, callFile } from '../api/request.ts';
import { saveFile } from '../api/save-file.ts';
import { useTask } from '../api/use-task.ts';
import { askColumn, type RowQuestion } from '../form/ask-column.tsx';
import { DeleteCard } from '../form/delete-card.tsx';
import { type Confirm, useConfirm } from '../form/use-confirm.tsx';
import { paths } from '../routing/paths.ts';
import { useShell } from '../session/session.ts';
import { Badge } from '../ui/badge.tsx';
import { Banner } from '../ui/banner.tsx';
import { Breakable } from '../ui/breakable.tsx';
import { actionsClass, Button } from '../ui/button.tsx';
import { Card } from '../ui/card.tsx';
import { PageHeader } from '../ui/page-header.tsx';
import { dateColumn } from '../ui/table/columns.tsx';
import { DataTable } from '../ui/table/data-table.tsx';
import type { Column } from '../ui/table/table-view.tsx';
import { PasskeysCard } from './passkeys-card.tsx';

export const loader = ({ request }: LoaderFunctionArgs) => ({
  sessions: later(callApi(accountCalls.listSessions, {}, { signal: request.signal })),
  passkeys: later(callApi(passkeyCalls.listPasskeys, {}, { signal: request.signal })),
  tokens: later(callApi(accountCalls.listOwnTokens, {}, { signal: request.signal })),
});

export function Component() {
  const { sessions, passkeys, tokens } = useLoaderData<typeof loader>();
  const { user } = useShell();
  const confirm = useConfirm();
  return (
    <>
      <PageHeader title="Account" subtitle={<Breakable text={user.email} />} />
      <div className="grid gap-6">
        <Card
          title="Sessions"
          description="Where you are signed in. Revoke any session you don't recognise."
          actions={<SignOutElsewhere ask={confirm.ask} />}
          flush
        >
          <div className="border-t">
            <Load promise={sessions}>{(loaded) => <SessionList sessions={loaded} ask={confirm.ask} />}</Load>
          </div>
        </Card>
        <PasskeysCard promise={passkeys} ask={confirm.ask} />
        <Card
          title="Terminals and API tokens"
          description="Programs that act for you, in all your projects. Revoke any you don't use."
          flush
        >
          <div className="border-t">
            <Load promise={tokens}>{(loaded) => <TokenList tokens={loaded} ask={confirm.ask} />}</Load>
          </div>
        </Card>
        <OwnData />
        <DeleteAccount email={user.email} ask={confirm.ask} />
      </div>
      {confirm.dialog}
    </>
  );
}

function OwnData() {
  const download = useTask(async () => saveFile(await callFile(accountCalls.exportAccount, {}), 'underpass-account.json'));
  return (
    <Card
      title="Your data"
      description="Everything that this service holds about you, as a JSON file: your account, memberships, sessions, passkeys and tokens by name, invitations, and what you did in the audit log. Without secrets."
    >
      <div className="grid justify-items-start gap-4">
        {download.error !== undefined && (
          <Banner tone="danger">{messageOf(download.error) ?? 'The download failed. Please try again.'}</Banner>
        )}
        <div className={actionsClass}>
          <Button busy={download.busy} onClick={download.run}>
            Download your data
          </Button>
        </div>
      </div>
    </Card>
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

function SignOutElsewhere({ ask }: { readonly ask: Confirm['ask'] }) {
  const signOut = () =>
    ask({
      title: 'Sign Out Everywhere Else',
      warning:
        'This signs out every other browser, every terminal that used ‘underpass login’, and you at tunnels with an access policy. API tokens for programs stay valid: revoke them one by one.',
      confirmLabel: 'Sign out',
      work: () => callApi(accountCalls.endOtherSignIns, {}),
      done: 'Signed out everywhere else.',
    });
  return (
    <Button size="sm" onClick={signOut}>
      Sign out everywhere else
    </Button>
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
    askColumn(ask, 'Revoke', '6rem', (session) => (session.isCurrent ? null : revocationOf(session))),
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

function revocationOf({ id, userAgent, address }: Session): RowQuestion {
  const device = describeUserAgent(userAgent);
  return {
    of: `Revoke ${device} at ${address}`,
    title: 'Revoke Session',
    warning: `${device} at ${address} is signed out immediately.`,
    confirmLabel: 'Revoke',
    work: () => callApi(accountCalls.deleteSession, { id }),
    done: 'Session revoked.',
  };
}

function TokenList({ tokens, ask }: { readonly tokens: readonly OwnToken[]; readonly ask: Confirm['ask'] }) {
  if (tokens.length === 0) return <p className="px-4 py-4 text-ink-soft sm:px-5">No terminals or API tokens yet.</p>;
  const columns: readonly Column<OwnToken>[] = [
    {
      key: 'name',
      header: 'Name',
      width: 'minmax(0, 1.4fr)',
      cell: ({ name, cli }) => (
        <span className="flex flex-wrap items-center gap-2 wrap-anywhere">
          <span className="font-semibold">{name}</span>
          {cli && <Badge>Terminal</Badge>}
        </span>
      ),
      sortBy: ({ name }) => name,
    },
    { key: 'project', header: 'Project', cell: ({ projectName }) => projectName, sortBy: ({ projectName }) => projectName },
    { key: 'role', header: 'Role', width: '6.5rem', cell: ({ role }) => <Badge>{roleLabels[role]}</Badge> },
    dateColumn('used', 'Last used', ({ usedAt }) => usedAt, 'first'),
    dateColumn('expires', 'Expires', ({ expiresAt }) => expiresAt, 'last'),
    askColumn(ask, 'Revoke', '6rem', tokenRevocationOf),
  ];
  return (
    <DataTable
      label="Terminals and API tokens"
      wide
      columns={columns}
      rows={tokens}
      rowKey={({ id }) => id}
      searchText={({ name, projectName }) => `${name} ${projectName}`}
      noun="tokens"
      initialSort={{ key: 'used', direction: 'descending' }}
      bare
    />
  );
}

const tokenRevocationOf = ({ id, name, cli, projectName }: OwnToken): RowQuestion => ({
  of: `Revoke ${name} in ${projectName}`,
  title: cli ? 'Sign Out Terminal' : 'Revoke API Token',
  warning: cli
    ? `${name} is signed out immediately. Tunnels that it carries stay connected.`
    : `Programs that use ${name} stop working immediately. This operation is permanent.`,
  confirmLabel: 'Revoke',
  work: () => callApi(accountCalls.deleteOwnToken, { id }),
  done: `${name} revoked.`,
});
