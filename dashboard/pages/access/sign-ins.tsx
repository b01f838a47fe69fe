// The sign-in log of a project: who signed in where, and whom a policy refused.

import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import type { AnswerOf } from '@underpass/rules/api/call.ts';
import { retentionDays } from '@underpass/rules/limits.ts';
import type { AccessSignIn } from '@underpass/rules/visit/access-policy.ts';
import { methodLabels, outcomeLabels } from '@underpass/rules/visit/words.ts';
import { type LoaderFunctionArgs, useLoaderData, useSearchParams } from 'react-router';
import { answers, askFor } from '../../api/answers.ts';
import { later } from '../../api/later.ts';
import { Load } from '../../api/load.tsx';
import { callApi } from '../../api/request.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { Badge } from '../../ui/badge.tsx';
import { Breakable } from '../../ui/breakable.tsx';
import { DateTime, dateWidth } from '../../ui/date-time.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { NothingHereIllustration } from '../../ui/illustrations/nothing-here.tsx';
import { Field } from '../../ui/input/field.tsx';
import { Select } from '../../ui/input/select.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { LogList } from '../audit/log-list.tsx';

type SignInPage = AnswerOf<typeof accessCalls.listAccessSignIns>;

const policyOf = (search: URLSearchParams): string | undefined => search.get('policy') || undefined;

const askPolicies = (project: string) => askFor(accessCalls.listAccessPolicies, { project, sort: 'name' });

export function loader({ params, request }: LoaderFunctionArgs) {
  answers.askAhead(askPolicies(params.projectID!), request.signal);
  const policy = policyOf(new URL(request.url).searchParams);
  const input = { project: params.projectID!, policy };
  return { first: later(callApi(accessCalls.listAccessSignIns, input, { signal: request.signal })), policy };
}

export function Component() {
  const { first, policy } = useLoaderData<typeof loader>();
  const project = useProject();
  return (
    <>
      <PageHeader
        title="Sign-in log"
        subtitle={`Sign-ins under access policies of ‘${project.name}’ in the last ${retentionDays.accessSignIn} days.`}
        back={paths.accessPolicies(project.id)}
      />
      <div className="grid gap-4">
        <PolicyFilter policy={policy} />
        <Load promise={first}>{(page) => <SignIns key={policy ?? ''} first={page} policy={policy} />}</Load>
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
  return (
    <Field label="Policy" className="sm:w-72">
      {(control) => (
        <Select
          {...control}
          value={policy ?? ''}
          options={options}
          onChange={(next) => setSearch(next === '' ? {} : { policy: next }, { replace: true })}
        />
      )}
    </Field>
  );
}

function SignIns({ first, policy }: { readonly first: SignInPage; readonly policy: string | undefined }) {
  const project = useProject();
  if (first.entries.length === 0) return <NoSignIns policy={policy} />;
  return (
    <LogList
      label="Sign-in log"
      columns={columns}
      first={first}
      ask={(before) => callApi(accessCalls.listAccessSignIns, { project: project.id, policy, before })}
    />
  );
}

function NoSignIns({ policy }: { readonly policy: string | undefined }) {
  const nothing =
    policy === undefined
      ? { title: 'No Sign-ins', text: 'Sign-ins under access policies appear here, also those that were refused.' }
      : { title: 'No Entries Found', text: `Nobody has signed in under ${policy}, or its sign-in log is off.` };
  return <EmptyState {...nothing} illustration={<NothingHereIllustration />} />;
}

const columns: readonly Column<AccessSignIn>[] = [
  { key: 'at', header: 'When', width: dateWidth, cell: ({ at }) => <DateTime at={at} style="short" /> },
  {
    key: 'who',
    header: 'Who',
    width: 'minmax(0, 1.2fr)',
    cell: ({ who }) => (who === '' ? <span className="text-ink-faint">Not known</span> : <Breakable text={who} />),
  },
  { key: 'method', header: 'How', width: '9rem', cell: ({ method }) => methodLabels[method] },
  { key: 'outcome', header: 'Outcome', width: 'minmax(0, 1.6fr)', cell: (entry) => <Outcome entry={entry} /> },
  {
    key: 'where',
    header: 'Where',
    width: 'minmax(0, 1.4fr)',
    cell: ({ host, policy }) => (
      <span className="grid">
        <Breakable text={host} />
        <span className="text-sm text-ink-soft">{policy}</span>
      </span>
    ),
  },
  {
    key: 'address',
    header: 'From',
    width: 'minmax(0, 0.9fr)',
    cell: ({ address }) => <span className="font-mono text-sm">{address}</span>,
  },
];

function Outcome({ entry: { allowed, reason } }: { readonly entry: AccessSignIn }) {
  if (allowed) return <Badge tone="ok">{outcomeLabels.allow}</Badge>;
  return (
    <span className="grid justify-items-start gap-1">
      <Badge tone="danger">{outcomeLabels.refuse}</Badge>
      <span className="text-sm text-ink-soft">{reason}</span>
    </span>
  );
}
