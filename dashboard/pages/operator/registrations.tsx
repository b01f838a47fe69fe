// Registrations: the operator approves or rejects each.
import { operatorCalls } from '@underpass/rules/api/operator-calls.ts';
import type { OperatorRegistration, RegistrationState } from '@underpass/rules/entity/resource.ts';
import { registrationList } from '@underpass/rules/list/list-page.ts';
import { type LoaderFunctionArgs, useLoaderData, useRevalidator, useSearchParams } from 'react-router';
import { messageOf } from '../../api/error.ts';
import { loadPage } from '../../api/load-page.ts';
import { callApi } from '../../api/request.ts';
import { useTask } from '../../api/use-task.ts';
import { type Confirm, useConfirm } from '../../form/use-confirm.tsx';
import { PagedList } from '../../list/paged-list.tsx';
import { Breakable } from '../../ui/breakable.tsx';
import { Button } from '../../ui/button.tsx';
import { DateTime, dateWidth } from '../../ui/date/date-time.tsx';
import { Segmented } from '../../ui/input/segmented.tsx';
import { NothingHere } from '../../ui/nothing-here.tsx';
import { toast } from '../../ui/overlay/toast.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { badgeColumn, buttonColumn, dateColumn } from '../../ui/table/columns.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { TwoLines } from '../../ui/table/two-lines.tsx';

const states = [
  { value: 'waiting', label: 'Pending' },
  { value: 'approved', label: 'Approved' },
  { value: 'rejected', label: 'Rejected' },
] as const;

const parseState = (text: string | null): RegistrationState => states.find(({ value }) => value === text)?.value ?? 'waiting';

export function loader({ request }: LoaderFunctionArgs) {
  const state = parseState(new URL(request.url).searchParams.get('state'));
  return { state, registrations: loadPage(request, operatorCalls.listRegistrations, registrationList, { state }) };
}

export function Component() {
  const { state, registrations } = useLoaderData<typeof loader>();
  const [, setSearch] = useSearchParams();
  const confirm = useConfirm();
  return (
    <>
      <PageHeader
        wide
        title="Registrations"
        subtitle="Approval creates the account and its first project. We email the person either way."
        actions={<Segmented label="State" value={state} options={states} onChange={(next) => setSearch({ state: next })} />}
      />
      <PagedList
        promise={registrations}
        empty={<NoRegistrations state={state} />}
        label="Registrations"
        wide
        columns={[...registrationColumns, state === 'waiting' ? decideColumn(confirm.ask) : decidedColumn]}
        rules={registrationList}
        rowKey={({ id }) => id}
        noun="registrations"
      />
      {confirm.dialog}
    </>
  );
}

function NoRegistrations({ state }: { readonly state: RegistrationState }) {
  const { label } = states.find(({ value }) => value === state)!;
  const text = state === 'waiting' ? 'New registrations appear here.' : `${label} registrations appear here.`;
  return <NothingHere title={`No ${label} Registrations`} text={text} />;
}

const registrationColumns: readonly Column<OperatorRegistration>[] = [
  {
    key: 'person',
    header: 'Person',
    width: 'minmax(0, 1.6fr)',
    cell: (row) => <Person registration={row} />,
  },
  { key: 'company', header: 'Company', cell: (row) => <Company registration={row} /> },
  badgeColumn('subscription', 'Subscription', '8rem', ({ isSubscribed }) =>
    isSubscribed ? ['Active', 'ok'] : ['Not found', 'warn'],
  ),
  dateColumn('created', 'Registered', ({ createdAt }) => createdAt),
];

function Person({ registration }: { readonly registration: OperatorRegistration }) {
  const { firstName, lastName, email, invitations } = registration;
  return (
    <span className="grid">
      <span className="font-semibold">{`${firstName} ${lastName}`}</span>
      <span className="text-sm text-ink-soft">
        <Breakable text={email} />
      </span>
      {invitations.map(({ invitedBy, projectName }) => (
        <span key={`${invitedBy} ${projectName}`} className="text-sm wrap-anywhere">
          Invited by <Breakable text={invitedBy} /> to <strong>{projectName}</strong>
        </span>
      ))}
    </span>
  );
}

/** Accounts are text, not links: a stranger typed them, and the operator should not open them by accident. */
function Company({ registration }: { readonly registration: OperatorRegistration }) {
  const { company, github, x } = registration;
  const accounts = [github && `GitHub: ${github}`, x && `X: ${x}`].filter(Boolean).join(', ');
  return <TwoLines second={accounts}>{company || <span className="text-ink-faint">None</span>}</TwoLines>;
}

const decidedColumn: Column<OperatorRegistration> = {
  key: 'decided',
  header: 'Decided',
  width: dateWidth,
  cell: ({ decidedAt, decidedBy }) => (
    <TwoLines second={decidedBy}>{decidedAt && <DateTime at={decidedAt} style="short" />}</TwoLines>
  ),
};

const decideColumn = (ask: Confirm['ask']): Column<OperatorRegistration> =>
  buttonColumn('Decide', '11rem', (registration) => <Decide registration={registration} ask={ask} />);

function Decide({ registration, ask }: { readonly registration: OperatorRegistration; readonly ask: Confirm['ask'] }) {
  const { id, email, isSubscribed } = registration;
  const { revalidate } = useRevalidator();
  const approval = useTask(async () => {
    try {
      await callApi(operatorCalls.approveRegistration, { id });
      toast.done(`${email} approved.`);
    } catch (error) {
      toast.failed(`${email} could not be approved.`, messageOf(error));
    }
    await revalidate();
  });
  const approve = () => {
    if (isSubscribed) approval.run();
    else
      ask({
        title: 'Approve Without Subscription',
        warning: `No active subscription of ${email} was found. Approval creates the account and emails them. To keep them out afterwards, suspend them on the page Users.`,
        confirmLabel: 'Approve',
        work: () => callApi(operatorCalls.approveRegistration, { id }),
        done: `${email} approved.`,
      });
  };
  const reject = () =>
    ask({
      title: 'Reject Registration',
      warning: `We email the rejection to ${email}. This operation is permanent.`,
      confirmLabel: 'Reject',
      work: () => callApi(operatorCalls.rejectRegistration, { id }),
      done: `${email} rejected.`,
    });
  return (
    <span className="inline-flex gap-2">
      <Button size="sm" variant="primary" busy={approval.busy} onClick={approve} aria-label={`Approve ${email}`}>
        Approve
      </Button>
      <Button size="sm" onClick={reject} aria-label={`Reject ${email}`}>
        Reject
      </Button>
    </span>
  );
}
