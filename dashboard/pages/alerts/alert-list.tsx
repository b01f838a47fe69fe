// Open and recent alerts, the open ones first.
import type { Alert } from '@underpass/rules/entity/resource.ts';
import { Link } from 'react-router';
import { placeOf } from '../../routing/attention-place.ts';
import { useProject } from '../../session/session.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Breakable } from '../../ui/breakable.tsx';
import { DateTime } from '../../ui/date/date-time.tsx';
import { NothingHere } from '../../ui/nothing-here.tsx';
import { dateColumn } from '../../ui/table/columns.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import type { Column } from '../../ui/table/table-view.tsx';

export function AlertList({ alerts }: { readonly alerts: readonly Alert[] }) {
  if (alerts.length === 0) {
    return <NothingHere title="No Alerts" text="Nothing has gone wrong in the last 30 days." />;
  }
  return (
    <DataTable
      label="Alerts"
      wide
      columns={columns}
      rows={alerts}
      rowKey={({ id }) => id}
      searchText={({ title, text }) => `${title} ${text}`}
      noun="alerts"
    />
  );
}

const tones: Readonly<Record<Alert['tone'], Tone>> = {
  positive: 'ok',
  negative: 'danger',
  warning: 'warn',
  waiting: 'info',
  neutral: 'neutral',
};

const columns: readonly Column<Alert>[] = [
  {
    key: 'what',
    header: 'What',
    width: 'minmax(0, 3fr)',
    cell: (alert) => (
      <div className="grid">
        <Title alert={alert} />
        <span className="text-sm text-ink-soft">
          {alert.text} {alert.until !== undefined && <Until at={alert.until} />}
        </span>
      </div>
    ),
  },
  {
    key: 'state',
    header: 'State',
    width: '6rem',
    cell: ({ state, tone }) =>
      state === 'open' ? (
        <Badge tone={tones[tone]} dot="cross">
          Open
        </Badge>
      ) : (
        <Badge>Over</Badge>
      ),
  },
  dateColumn('since', 'Since', ({ since, openedAt }) => since ?? openedAt),
  dateColumn('closed', 'Over', ({ closedAt }) => closedAt),
];

/** An open one leads to the place where it is mended. */
function Title({ alert }: { readonly alert: Alert }) {
  const project = useProject();
  const title = <Breakable text={alert.title} />;
  if (alert.state !== 'open') return <span className="font-semibold">{title}</span>;
  return (
    <Link
      to={placeOf(alert, project)}
      className="font-semibold underline decoration-line underline-offset-4 hover:decoration-current"
    >
      {title}
    </Link>
  );
}

const Until = ({ at }: { readonly at: string }) => (
  <>
    Until <DateTime at={at} style="short" />.
  </>
);
