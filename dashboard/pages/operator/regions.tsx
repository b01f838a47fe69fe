// The regions where tunnels run.
import { operatorCalls } from '@underpass/rules/api/operator-calls.ts';
import type { OperatorRegion } from '@underpass/rules/entity/resource.ts';
import { durations } from '@underpass/rules/limits.ts';
import { MoreHorizontal } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { later } from '../../api/later.ts';
import { Load } from '../../api/load.tsx';
import { callApi } from '../../api/request.ts';
import { type Question, useConfirm } from '../../form/use-confirm.tsx';
import { AddButton } from '../../ui/add-button.tsx';
import { Badge } from '../../ui/badge.tsx';
import { IconButton } from '../../ui/button.tsx';
import { NothingHere } from '../../ui/nothing-here.tsx';
import { Menu, MenuItem, MenuSeparator } from '../../ui/overlay/menu.tsx';
import { SecretDialog } from '../../ui/overlay/secret-dialog.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { countColumn, menuColumn } from '../../ui/table/columns.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { RegionPanel } from './region-panel.tsx';

export const loader = ({ request }: LoaderFunctionArgs) => ({
  regions: later(callApi(operatorCalls.listOperatorRegions, {}, { signal: request.signal })),
});

export function Component() {
  const { regions } = useLoaderData<typeof loader>();
  const [edited, setEdited] = useState<OperatorRegion>();
  const [editing, setEditing] = useState(false);
  const [key, setKey] = useState<string>();
  const confirm = useConfirm();
  const edit = (region: OperatorRegion | undefined) => {
    setEdited(region);
    setEditing(true);
  };
  const actions: RegionActions = {
    onEdit: edit,
    onKey: (region) => confirm.ask(keyQuestion(region, setKey)),
    onDelete: (region) => confirm.ask(deleteQuestion(region)),
    onAvailable: (region) => confirm.ask(availableQuestion(region)),
  };
  const add = <AddButton onClick={() => edit(undefined)}>Add region</AddButton>;
  return (
    <>
      <PageHeader wide title="Regions" subtitle="Where tunnels run. Edges connect to a region with its key." actions={add} />
      <Load promise={regions}>{(loaded) => <RegionList regions={loaded} actions={actions} add={add} />}</Load>
      <RegionPanel region={edited} open={editing} onOpenChange={setEditing} />
      <SecretDialog
        title="New region key"
        label="Key"
        secret={key}
        hint={`Set it as UNDERPASS_EDGE_KEY on each edge of the region. The previous key works for ${durations.tokenOverlapHours} more hours, so you can change the edges one by one.`}
        onClose={() => setKey(undefined)}
      />
      {confirm.dialog}
    </>
  );
}

interface RegionActions {
  readonly onEdit: (region: OperatorRegion) => void;
  readonly onKey: (region: OperatorRegion) => void;
  readonly onDelete: (region: OperatorRegion) => void;
  readonly onAvailable: (region: OperatorRegion) => void;
}

interface RegionListProps {
  readonly regions: readonly OperatorRegion[];
  readonly actions: RegionActions;
  readonly add: ReactNode;
}

function RegionList({ regions, actions, add }: RegionListProps) {
  if (regions.length === 0) {
    return <NothingHere title="No Regions" text="Add a region so that users can create tunnels." action={add} />;
  }
  return <DataTable label="Regions" wide columns={columnsOf(actions)} rows={regions} rowKey={({ name }) => name} />;
}

function columnsOf(actions: RegionActions): readonly Column<OperatorRegion>[] {
  return [
    {
      key: 'name',
      header: 'Region',
      width: 'minmax(0, 1.2fr)',
      cell: (region) => <RegionName region={region} />,
      sortBy: ({ name }) => name,
    },
    {
      key: 'host',
      header: 'Data plane',
      width: 'minmax(0, 1.8fr)',
      cell: (region) => <Hosts region={region} />,
      sortBy: ({ dataPlaneHost }) => dataPlaneHost,
    },
    {
      key: 'tls',
      header: 'TLS',
      width: '9rem',
      cell: ({ tlsTermination }) => (tlsTermination ? 'Terminated' : 'Passthrough only'),
      sortBy: ({ tlsTermination }) => Number(tlsTermination),
    },
    countColumn('tunnels', 'Tunnels', '5.5rem', ({ tunnels }) => tunnels),
    {
      key: 'available',
      header: 'State',
      width: '7.5rem',
      cell: ({ available }) => <Badge tone={available ? 'ok' : 'neutral'}>{available ? 'Available' : 'Closed'}</Badge>,
      sortBy: ({ available }) => Number(available),
    },
    menuColumn((region) => <RegionMenu region={region} actions={actions} />),
  ];
}

function RegionName({ region }: { readonly region: OperatorRegion }) {
  return (
    <span className="grid">
      <span className="font-semibold">{region.description || region.name}</span>
      <span className="font-mono text-sm text-ink-soft">{region.name}</span>
    </span>
  );
}

function Hosts({ region }: { readonly region: OperatorRegion }) {
  return (
    <span className="grid font-mono text-sm">
      <span>{`${region.dataPlaneHost}:${region.httpsPort}`}</span>
      {region.wildcardIngressDomain && <span className="text-ink-soft">{`*.${region.wildcardIngressDomain}`}</span>}
      {region.certificateProblem && (
        <span className="mt-1 font-sans whitespace-normal wrap-anywhere text-danger">{`No certificate for ${region.certificateProblem}`}</span>
      )}
    </span>
  );
}

function RegionMenu({ region, actions }: { readonly region: OperatorRegion; readonly actions: RegionActions }) {
  return (
    <Menu trigger={<IconButton label={`Actions for ${region.name}`} icon={<MoreHorizontal aria-hidden="true" />} />}>
      <MenuItem onClick={() => actions.onEdit(region)}>Edit</MenuItem>
      <MenuItem onClick={() => actions.onAvailable(region)}>
        {region.available ? 'Close to new tunnels' : 'Make available'}
      </MenuItem>
      <MenuItem onClick={() => actions.onKey(region)}>New key</MenuItem>
      <MenuSeparator />
      <MenuItem danger onClick={() => actions.onDelete(region)}>
        Delete
      </MenuItem>
    </Menu>
  );
}

function keyQuestion({ name }: OperatorRegion, show: (key: string) => void): Question {
  return {
    title: 'Create New Key',
    warning: `The current key of ${name} works for ${durations.tokenOverlapHours} more hours. Set the new key on the edges before then.`,
    confirmLabel: 'Create key',
    work: async () => show((await callApi(operatorCalls.createRegionKey, { name })).key),
    done: `New key of ${name} created.`,
  };
}

function deleteQuestion({ name }: OperatorRegion): Question {
  return {
    title: 'Delete Region',
    warning: `${name} is deleted permanently, and its edges are disconnected. A region with tunnels cannot be deleted.`,
    confirmLabel: 'Delete',
    work: () => callApi(operatorCalls.deleteRegion, { name }),
    done: `${name} deleted.`,
  };
}

function availableQuestion({ name, available, tunnels }: OperatorRegion): Question {
  return {
    title: available ? 'Close Region' : 'Make Region Available',
    warning: available
      ? `Users can no longer create tunnels in ${name}. Its existing tunnels (${tunnels}) keep working.`
      : `Users can create tunnels in ${name}.`,
    confirmLabel: available ? 'Close' : 'Make available',
    work: () => callApi(operatorCalls.changeRegion, { name, payload: { available: !available } }),
    done: available ? `${name} is closed to new tunnels.` : `${name} is available.`,
  };
}
