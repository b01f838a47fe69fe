// The head of the tunnel's page, with the actions on the tunnel.
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { may } from '@underpass/rules/people/permission.ts';
import { isPrivateTunnel } from '@underpass/rules/tunnel/tcp-address.ts';
import { tunnelTypes } from '@underpass/rules/tunnel/tunnel-type.ts';
import { EllipsisVertical, KeyRound, Pencil, RefreshCw, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'react-router';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { lazyOverlay } from '../../ui/lazy-part.tsx';
import { Menu, MenuItem } from '../../ui/overlay/menu.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { ConditionNote, LiveStatusBadge } from '../tunnels/status-badge.tsx';

const UpdateTunnelPanel = lazyOverlay('The form', () =>
  import('./update-tunnel-panel.tsx').then(({ UpdateTunnelPanel }) => UpdateTunnelPanel),
);
const RotateTokenDialog = lazyOverlay('The question', () =>
  import('./rotate-token-dialog.tsx').then(({ RotateTokenDialog }) => RotateTokenDialog),
);
const DeleteTunnelDialog = lazyOverlay('The question', () =>
  import('./delete-tunnel-dialog.tsx').then(({ DeleteTunnelDialog }) => DeleteTunnelDialog),
);

interface TunnelHeaderProps {
  readonly tunnel: Tunnel;
  readonly busy: boolean;
  readonly onRefresh: () => void;
}

export function TunnelHeader({ tunnel, busy, onRefresh }: TunnelHeaderProps) {
  const project = useProject();
  return (
    <PageHeader
      title={tunnel.name}
      back={paths.tunnels(project.id)}
      badges={
        <>
          <LiveStatusBadge tunnel={tunnel} />
          <ConditionNote tunnel={tunnel} />
        </>
      }
      subtitle={<Facts tunnel={tunnel} />}
      actions={
        <>
          <Button icon={<RefreshCw aria-hidden="true" />} busy={busy} onClick={onRefresh}>
            Refresh
          </Button>
          {may(project.role, 'tunnel.update') && <TunnelMenu tunnel={tunnel} />}
        </>
      }
    />
  );
}

/** Dots separate the facts. The dot before the first fact of a line lies outside the box, which hides it. */
function Facts({ tunnel }: { readonly tunnel: Tunnel }) {
  const project = useProject();
  const { label, description } = tunnelTypes[tunnel.type];
  const reach = isPrivateTunnel(tunnel) ? 'Private, for members and holders of a ticket.' : description;
  return (
    <div className="overflow-hidden">
      <ul className="-ml-5 flex flex-wrap [&>li]:relative [&>li]:pl-5 [&>li]:before:absolute [&>li]:before:left-2 [&>li]:before:text-ink-faint [&>li]:before:content-['·']">
        <li>{tunnel.regionDescription || tunnel.region}</li>
        {tunnel.proxyProtocol !== '' && <li>Proxy protocol {tunnel.proxyProtocol}</li>}
        <li>
          {label}: {reach}
        </li>
        {tunnel.accessPolicy && (
          <li>
            Access:{' '}
            <Link
              to={paths.accessPolicy(project.id, tunnel.accessPolicy)}
              className="font-semibold underline underline-offset-4 hover:text-ink"
            >
              {tunnel.accessPolicy}
            </Link>
          </li>
        )}
        <li>
          <Link
            to={`${paths.alerts(project.id)}?tunnel=${encodeURIComponent(tunnel.name)}`}
            className="font-semibold underline underline-offset-4 hover:text-ink"
          >
            Alerts
          </Link>
        </li>
        {may(project.role, 'visitor-log.read') && (
          <li>
            Visitor log:{' '}
            <Link
              to={paths.visitors(project.id, tunnel.name)}
              className="font-semibold underline underline-offset-4 hover:text-ink"
            >
              {tunnel.visitorLog === undefined ? 'off' : 'on'}
            </Link>
          </li>
        )}
      </ul>
    </div>
  );
}

type Open = 'edit' | 'rotate' | 'delete' | undefined;

function TunnelMenu({ tunnel }: { readonly tunnel: Tunnel }) {
  const [open, setOpen] = useState<Open>();
  const onOpenChange = (stays: boolean) => stays || setOpen(undefined);
  return (
    <>
      <Menu
        trigger={
          <IconButton size="md" variant="secondary" label="Tunnel actions" icon={<EllipsisVertical aria-hidden="true" />} />
        }
      >
        <MenuItem icon={<Pencil aria-hidden="true" />} onClick={() => setOpen('edit')}>
          Edit
        </MenuItem>
        <MenuItem icon={<KeyRound aria-hidden="true" />} onClick={() => setOpen('rotate')}>
          Rotate token
        </MenuItem>
        <MenuItem icon={<Trash2 aria-hidden="true" />} danger onClick={() => setOpen('delete')}>
          Delete
        </MenuItem>
      </Menu>
      <UpdateTunnelPanel tunnel={tunnel} open={open === 'edit'} onOpenChange={onOpenChange} />
      <RotateTokenDialog tunnel={tunnel} open={open === 'rotate'} onOpenChange={onOpenChange} />
      <DeleteTunnelDialog tunnel={tunnel} open={open === 'delete'} onOpenChange={onOpenChange} />
    </>
  );
}
