// The sign-in log of a project: who signed in where, and whom a policy refused.

import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import type { AnswerOf } from '@underpass/rules/api/call.ts';
import { retentionDays } from '@underpass/rules/limits.ts';
import { may } from '@underpass/rules/people/permission.ts';
import type { AccessSignIn } from '@underpass/rules/visit/access-policy.ts';
import { methodLabels, outcomeLabels, unnamedVisitors } from '@underpass/rules/visit/words.ts';
import { useState } from 'react';
import { type LoaderFunctionArgs, useLoaderData, useSearchParams } from 'react-router';
import { answers, askFor } from '../../api/answers.ts';
import { later } from '../../api/later.ts';
import { Load } from '../../api/load.tsx';
import { callApi } from '../../api/request.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { LogSearch, LogTable } from '../../list/log-table.tsx';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { Badge } from '../../ui/badge.tsx';
import { Breakable } from '../../ui/breakable.tsx';
import { Button } from '../../ui/button.tsx';
import { DateTime, dateWidth } from '../../ui/date/date-time.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { NothingHereIllustration } from '../../ui/illustrations/nothing-here.tsx';
import { SelectField } from '../../ui/input/select-field.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { buttonColumn } from '../../ui/table/columns.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { TwoLines } from '../../ui/table/two-lines.tsx';
import { SignOutDialog } from './sign-out-dialog.tsx';

type SignInPage = AnswerOf<typeof accessCalls.listAccessSignIns>;

const askPolicies = (project: string) => askFor(accessCalls.listAccessPolicies, { project, sort: 'name' });

/** The address names the next page `after`, as in every list; the call names it `before`. */
export function loader({ params, request }: LoaderFunctionArgs) {
  void answers.askAhead(askPolicies(params.projectID!), request.signal);
  const search = new URL(request.url).searchParams;
  const [policy, q, before, after] = ['policy', 'q', 'after', 'before'].map((name) => search.get(name) || undefined);
  const input = { project: params.projectID!, policy, q, before, after };
  return { page: later(callApi(accessCalls.listAccessSignIns, input, { signal: request.signal })), policy, q };
}

export function Component() {
  const { page, policy, q } = useLoaderData<typeof loader>();
  const project = useProject();
  return (
    <>
      <PageHeader
        wide
        title="Sign-in log"
        subtitle={`Sign-ins under access policies of ‘${project.name}’ in the last ${retentionDays.accessSignIn} days.`}
        back={paths.accessPolicies(project.id)}
      />
      <div className="grid gap-4">
        <search aria-label="Filter the sign-in log" className="flex flex-wrap items-end gap-3">
          <LogSearch label="Search sign-ins" />
          <PolicyFilter policy={policy} />
        </search>
        <Load promise={page} isKept>
          {(loaded) => <SignIns page={loaded} policy={policy} q={q} />}
        </Load>
      </div>
    </>
  );
}

function PolicyFilter({ policy }: { readonly policy: string | undefined }) {
  const project = useProject();
  const [, setSearch] = useSearchParams();
  const policies = useFetched(askPolicies(project.id));
  // The log may name policies that are deleted.
  const names = new Set([...(policies.data ?? []).map(({ name }) => name), ...(policy === undefined ? [] : [policy])]);
  const options = [{ value: '', label: 'All policies' }, ...[...names].map((name) => ({ value: name, label: name }))];
  const choose = (name: string) => {
    const next = new URLSearchParams(location.search);
    for (const each of ['policy', 'after', 'before']) next.delete(each);
    if (name !== '') next.set('policy', name);
    setSearch(next, { replace: true });
  };
  return <SelectField label="Policy" className="w-full sm:w-72" value={policy ?? ''} options={options} onChange={choose} />;
}

interface SignInsProps {
  readonly page: SignInPage;
  readonly policy: string | undefined;
  readonly q: string | undefined;
}

type Visitor = Pick<AccessSignIn, 'who' | 'policy'>;

function SignIns({ page, policy, q }: SignInsProps) {
  const project = useProject();
  const [leaving, setLeaving] = useState<Visitor>();
  const [isOpen, setOpen] = useState(false);
  const ask = (visitor: Visitor) => {
    setLeaving(visitor);
    setOpen(true);
  };
  if (page.entries.length === 0) return <NoSignIns policy={policy} q={q} />;
  const all = may(project.role, 'access-policy.update') ? [...columns, signOutColumn(ask)] : columns;
  return (
    <>
      <LogTable label="Sign-in log" wide columns={all} page={page} />
      {leaving && <SignOutDialog policy={leaving.policy} email={leaving.who} open={isOpen} onOpenChange={setOpen} />}
    </>
  );
}

function NoSignIns({ policy, q }: Omit<SignInsProps, 'page'>) {
  const illustration = <NothingHereIllustration />;
  if (q !== undefined)
    return <EmptyState title="No Entries Found" text={`No sign-in matches “${q}”.`} illustration={illustration} />;
  if (policy === undefined) {
    const text = 'Sign-ins under access policies appear here, also those that were refused.';
    return <EmptyState title="No Sign-ins" text={text} illustration={illustration} />;
  }
  const text = `Nobody has signed in under ${policy}, or its sign-in log is off.`;
  return <EmptyState title="No Entries Found" text={text} illustration={illustration} />;
}

const columns: readonly Column<AccessSignIn>[] = [
  { key: 'at', header: 'When', width: dateWidth, cell: ({ at }) => <DateTime at={at} style="short" /> },
  {
    key: 'who',
    header: 'Who',
    width: 'minmax(0, 1.2fr)',
    cell: ({ who, method }) =>
      who === '' ? <span className="text-ink-soft">{unnamedVisitors[method] ?? 'Not known'}</span> : <Breakable text={who} />,
  },
  { key: 'method', header: 'How', width: '9rem', cell: ({ method }) => methodLabels[method] ?? method },
  { key: 'outcome', header: 'Outcome', width: 'minmax(0, 1.6fr)', cell: (entry) => <Outcome entry={entry} /> },
  {
    key: 'where',
    header: 'Where',
    width: 'minmax(0, 1.4fr)',
    cell: ({ host, policy }) => (
      <TwoLines second={policy}>
        <Breakable text={host} />
      </TwoLines>
    ),
  },
  {
    key: 'address',
    header: 'From',
    width: 'minmax(0, 0.9fr)',
    cell: ({ address }) => <span className="font-mono text-sm">{address}</span>,
  },
];

/** Only for a person: whoever has a password or link is not one that a policy could sign out alone. */
const signOutColumn = (ask: (visitor: Visitor) => void): Column<AccessSignIn> =>
  buttonColumn('Sign out', '6rem', ({ who, policy, allowed }) =>
    allowed && who.includes('@') ? (
      <Button size="sm" onClick={() => ask({ who, policy })} aria-label={`Sign ${who} out of ${policy}`}>
        Sign out
      </Button>
    ) : null,
  );

function Outcome({ entry: { allowed, reason } }: { readonly entry: AccessSignIn }) {
  if (allowed) return <Badge tone="ok">{outcomeLabels.allow}</Badge>;
  return (
    <span className="grid justify-items-start gap-1">
      <Badge tone="danger">{outcomeLabels.refuse}</Badge>
      <span className="text-sm text-ink-soft">{reason}</span>
    </span>
  );
}
