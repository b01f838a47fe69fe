// What the whole service refuses: addresses, networks and names.
import { operatorCalls } from '@underpass/rules/api/operator-calls.ts';
import type { Block } from '@underpass/rules/entity/resource.ts';
import { blockList } from '@underpass/rules/list/list-page.ts';
import { Ban, FileUp } from 'lucide-react';
import { useState } from 'react';
import { type LoaderFunctionArgs, useLoaderData, useSearchParams } from 'react-router';
import { loadPage } from '../../api/load-page.ts';
import { callApi } from '../../api/request.ts';
import { askColumn, type RowQuestion } from '../../form/ask-column.tsx';
import { type Confirm, useConfirm } from '../../form/use-confirm.tsx';
import { PagedList } from '../../list/paged-list.tsx';
import { Breakable } from '../../ui/breakable.tsx';
import { Button } from '../../ui/button.tsx';
import { NothingHere } from '../../ui/nothing-here.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { badgeColumn, dateColumn, textColumn } from '../../ui/table/columns.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { ImportDialog, type Importing } from './import-dialog.tsx';
import { NewBlockDialog } from './new-block-dialog.tsx';

export const loader = ({ request }: LoaderFunctionArgs) => ({
  blocks: loadPage(request, operatorCalls.listBlocks, blockList, {}),
});

const importing: Importing = {
  title: 'Import Blocks',
  description: 'One address, network or name per line, and optionally a comma and the reason.',
  noun: 'block',
  example: '203.0.113.0/24,scans ports\nevil.example.com,phishing',
  send: (csv) => callApi(operatorCalls.importBlocks, { payload: csv }),
};

export function Component() {
  const { blocks } = useLoaderData<typeof loader>();
  const [search] = useSearchParams();
  /** Names what a report of abuse is about; empty without one. */
  const reported = search.get('add') ?? '';
  const [dialog, setDialog] = useState<'import' | 'add' | undefined>(reported === '' ? undefined : 'add');
  const close = () => setDialog(undefined);
  const confirm = useConfirm();
  const actions = (
    <>
      <Button icon={<FileUp aria-hidden="true" />} onClick={() => setDialog('import')}>
        Import CSV
      </Button>
      <Button variant="primary" icon={<Ban aria-hidden="true" />} onClick={() => setDialog('add')}>
        Add block
      </Button>
    </>
  );
  return (
    <>
      <PageHeader
        wide
        title="Blocks"
        subtitle="Edges refuse these addresses within seconds, as visitors and as clients. No tunnel can serve these names."
        actions={actions}
      />
      <PagedList
        promise={blocks}
        empty={
          <NothingHere
            title="No Blocks"
            text="Block an address that attacks the service, or a name that deceives people."
            action={actions}
          />
        }
        label="Blocks"
        wide
        columns={columnsOf(confirm.ask)}
        rules={blockList}
        rowKey={({ id }) => id}
        noun="blocks"
      />
      <ImportDialog of={importing} open={dialog === 'import'} onOpenChange={close} />
      <NewBlockDialog value={reported} open={dialog === 'add'} onOpenChange={close} />
      {confirm.dialog}
    </>
  );
}

function columnsOf(ask: Confirm['ask']): readonly Column<Block>[] {
  return [
    {
      key: 'value',
      header: 'Blocked',
      width: 'minmax(0, 1.6fr)',
      cell: ({ value }) => (
        <span className="font-mono text-sm">
          <Breakable text={value} />
        </span>
      ),
    },
    badgeColumn('kind', 'Kind', '7rem', ({ kind }) => [kind === 'address' ? 'Address' : 'Name']),
    {
      key: 'reason',
      header: 'Reason',
      width: 'minmax(0, 1.6fr)',
      cell: ({ reason }) => <span className="wrap-anywhere">{reason}</span>,
    },
    textColumn('by', 'By', 'minmax(0, 1.2fr)', ({ createdBy }) => createdBy),
    dateColumn('since', 'Since', ({ createdAt }) => createdAt),
    askColumn(ask, 'End', '6rem', endingOf),
  ];
}

const endingOf = ({ id, kind, value }: Block): RowQuestion => ({
  of: `End the block of ${value}`,
  title: 'End Block',
  warning:
    kind === 'address'
      ? `${value} can reach the service again.`
      : `Tunnels can serve ${value} and the names below it again. Those that still have such a name go on with it at once.`,
  confirmLabel: 'End block',
  work: () => callApi(operatorCalls.deleteBlock, { id }),
  done: `${value} is no longer blocked.`,
});
