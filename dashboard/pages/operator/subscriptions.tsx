// The subscriptions that the email address of a registration is matched against.
import { operatorCalls } from '@underpass/rules/api/operator-calls.ts';
import type { Subscription } from '@underpass/rules/entity/resource.ts';
import { subscriptionList } from '@underpass/rules/list/list-page.ts';
import { FileUp } from 'lucide-react';
import { useState } from 'react';
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { loadPage } from '../../api/load-page.ts';
import { callApi } from '../../api/request.ts';
import { askColumn, type RowQuestion } from '../../form/ask-column.tsx';
import { type Confirm, useConfirm } from '../../form/use-confirm.tsx';
import { PagedList } from '../../list/paged-list.tsx';
import { AddButton } from '../../ui/add-button.tsx';
import { Button } from '../../ui/button.tsx';
import { NothingHere } from '../../ui/nothing-here.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { badgeColumn, dateColumn, titleColumn } from '../../ui/table/columns.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { ImportDialog, type Importing } from './import-dialog.tsx';
import { NewSubscriptionDialog } from './new-subscription-dialog.tsx';

export const loader = ({ request }: LoaderFunctionArgs) => ({
  subscriptions: loadPage(request, operatorCalls.listSubscriptions, subscriptionList, {}),
});

export function Component() {
  const { subscriptions } = useLoaderData<typeof loader>();
  const [dialog, setDialog] = useState<'import' | 'add'>();
  const close = () => setDialog(undefined);
  const confirm = useConfirm();
  const actions = (
    <>
      <Button icon={<FileUp aria-hidden="true" />} onClick={() => setDialog('import')}>
        Import CSV
      </Button>
      <AddButton onClick={() => setDialog('add')}>Add subscription</AddButton>
    </>
  );
  return (
    <>
      <PageHeader
        wide
        title="Subscriptions"
        subtitle="The email address of a registration must match one of these."
        actions={actions}
      />
      <PagedList
        promise={subscriptions}
        empty={
          <NothingHere
            title="No Subscriptions"
            text="Import a list, add one by hand, or connect your shop by webhook."
            action={actions}
          />
        }
        label="Subscriptions"
        wide
        columns={columnsOf(confirm.ask)}
        rules={subscriptionList}
        rowKey={({ id }) => id}
        noun="subscriptions"
      />
      <ImportDialog of={importing} open={dialog === 'import'} onOpenChange={close} />
      <NewSubscriptionDialog open={dialog === 'add'} onOpenChange={close} />
      {confirm.dialog}
    </>
  );
}

const importing: Importing = {
  title: 'Import Subscriptions',
  description: 'One subscription per line. The first line names the columns: email, and optionally active and expires_at.',
  noun: 'subscription',
  example: 'email,expires_at\nada@example.com,2027-01-31',
  send: (csv) => callApi(operatorCalls.importSubscriptions, { payload: csv }),
};

const sources: Readonly<Record<Subscription['source'], string>> = { operator: 'By hand', import: 'Import', webhook: 'Webhook' };

function columnsOf(ask: Confirm['ask']): readonly Column<Subscription>[] {
  return [
    titleColumn('email', 'Email', 'minmax(0, 1.8fr)', ({ email }) => email),
    badgeColumn('active', 'State', '7rem', ({ active }) => (active ? ['Active', 'ok'] : ['Ended', 'neutral'])),
    { key: 'source', header: 'Source', width: '7rem', cell: ({ source }) => sources[source] },
    dateColumn('expires', 'Ends', ({ expiresAt }) => expiresAt, 'last'),
    dateColumn('updated', 'Updated', ({ updatedAt }) => updatedAt),
    askColumn(ask, 'Delete', '6rem', deletionOf),
  ];
}

const deletionOf = ({ id, email }: Subscription): RowQuestion => ({
  of: `Delete the subscription of ${email}`,
  title: 'Delete Subscription',
  warning: `New registrations with ${email} no longer match. Existing accounts stay.`,
  confirmLabel: 'Delete',
  work: () => callApi(operatorCalls.deleteSubscription, { id }),
  done: `Subscription of ${email} deleted.`,
});
