// What was sent to the webhook, the newest first, and how that went.
import { alertCalls } from '@underpass/rules/api/alert-calls.ts';
import type { AlertDelivery, AlertWebhookPage } from '@underpass/rules/entity/resource.ts';
import { messageOf } from '../../api/error.ts';
import { FetchedRows } from '../../api/fetched-rows.tsx';
import { callApi } from '../../api/request.ts';
import type { Fetched } from '../../api/use-fetched.ts';
import { useTask } from '../../api/use-task.ts';
import { useProject } from '../../session/session.ts';
import { Badge, type Dot, type Tone } from '../../ui/badge.tsx';
import { Breakable } from '../../ui/breakable.tsx';
import { Button } from '../../ui/button.tsx';
import { toast } from '../../ui/overlay/toast.tsx';
import { buttonColumn, dateColumn } from '../../ui/table/columns.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import type { Column } from '../../ui/table/table-view.tsx';

interface DeliveriesProps {
  readonly fetched: Fetched<AlertWebhookPage>;
  /** Nothing can be sent again. */
  readonly isOff: boolean;
}

export function Deliveries({ fetched, isOff }: DeliveriesProps) {
  const { data, ...rest } = fetched;
  const log = { ...rest, data: data?.deliveries };
  return (
    <FetchedRows fetched={log} what="deliveries" emptyText="Nothing was sent yet. Press Test to try it.">
      {(rows) => (
        <DataTable
          label="Deliveries"
          bare
          wide
          columns={columnsOf(isOff, fetched.reload)}
          rows={rows}
          rowKey={({ id }) => id}
          searchText={({ title, state, error }) => `${title} ${state} ${error ?? ''}`}
          noun="deliveries"
        />
      )}
    </FetchedRows>
  );
}

const states: Readonly<Record<AlertDelivery['state'], { readonly label: string; readonly tone: Tone; readonly dot: Dot }>> = {
  delivered: { label: 'Delivered', tone: 'ok', dot: 'filled' },
  waiting: { label: 'Waiting', tone: 'info', dot: 'ring' },
  failed: { label: 'Failed', tone: 'danger', dot: 'cross' },
};

function columnsOf(isOff: boolean, reload: () => void): readonly Column<AlertDelivery>[] {
  return [
    {
      key: 'what',
      header: 'What',
      width: 'minmax(0, 2fr)',
      cell: ({ title, error, status, state, attempts }) => (
        <div className="grid">
          <span className="font-semibold">
            <Breakable text={title} />
          </span>
          <span className="text-sm text-ink-soft">{state === 'delivered' ? `Status ${status}.` : (error ?? '')}</span>
          {attempts > 1 && <span className="text-sm text-ink-soft">{attempts} attempts.</span>}
        </div>
      ),
    },
    {
      key: 'state',
      header: 'State',
      width: '7.5rem',
      cell: ({ state }) => (
        <Badge tone={states[state].tone} dot={states[state].dot}>
          {states[state].label}
        </Badge>
      ),
    },
    dateColumn('at', 'Happened', ({ at }) => at),
    dateColumn('next', 'Next attempt', ({ nextAt }) => nextAt),
    ...(isOff
      ? []
      : [buttonColumn<AlertDelivery>('Send again', '8rem', (delivery) => <SendAgain delivery={delivery} reload={reload} />)]),
  ];
}

function SendAgain({
  delivery: { id, title, state },
  reload,
}: {
  readonly delivery: AlertDelivery;
  readonly reload: () => void;
}) {
  const project = useProject();
  const task = useTask(async () => {
    await callApi(alertCalls.resendAlertDelivery, { project: project.id, id }).then(
      () => toast.done('It is sent again within seconds.'),
      (error: unknown) => toast.failed('It was not sent again.', messageOf(error)),
    );
    reload();
  });
  if (state === 'waiting') return null;
  return (
    <Button size="sm" busy={task.busy} onClick={() => task.run()} aria-label={`Send ${title} again`}>
      Send again
    </Button>
  );
}
