// The share links of a policy: created, shown once, revoked.

import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import type { AnswerOf } from '@underpass/rules/api/call.ts';
import type { AccessLink } from '@underpass/rules/visit/access-policy.ts';
import { usesOf } from '@underpass/rules/visit/words.ts';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { useRevalidator } from 'react-router';
import { askFor } from '../../api/answers.ts';
import { FetchedRows } from '../../api/fetched-rows.tsx';
import { callApi } from '../../api/request.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { useConfirm } from '../../form/use-confirm.tsx';
import { useProject } from '../../session/session.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { CopyTextButton } from '../../ui/copy-button.tsx';
import { Dialog } from '../../ui/overlay/dialog.tsx';
import { buttonColumn, dateColumn } from '../../ui/table/columns.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { useLast } from '../../ui/use-last.ts';
import { NewLinkPanel } from './new-link-panel.tsx';
import { type PolicyTableProps, RevokeButton } from './revoke-button.tsx';
import type { PolicyTabProps } from './tokens.tsx';

type NewLink = AnswerOf<typeof accessCalls.createAccessLink>;

export function Links({ policy: { name, tunnels }, readOnly }: PolicyTabProps) {
  const project = useProject();
  const { revalidate } = useRevalidator();
  const [open, setOpen] = useState(false);
  const [created, setCreated] = useState<NewLink>();
  const confirm = useConfirm();
  const links = useFetched(askFor(accessCalls.listAccessLinks, { project: project.id, name }));
  const showCreated = (link: NewLink) => {
    setOpen(false);
    setCreated(link);
    links.reload();
    revalidate();
  };
  const create = !readOnly && tunnels.length > 0 && (
    <Button size="sm" icon={<Plus aria-hidden="true" />} onClick={() => setOpen(true)}>
      Create link
    </Button>
  );
  const emptyText =
    tunnels.length === 0 ? 'A link needs an address. Edit an http tunnel and select this policy first.' : 'No share links.';
  return (
    <Card
      title="Share links"
      description="Anyone with a link can visit until it expires, is used up or is revoked."
      actions={create}
      flush
    >
      <div className="border-t">
        <FetchedRows fetched={links} what="share links" emptyText={emptyText}>
          {(rows) => <LinkTable policy={name} rows={rows} readOnly={readOnly} ask={confirm.ask} reload={links.reload} />}
        </FetchedRows>
      </div>
      <NewLinkPanel policy={name} open={open} onOpenChange={setOpen} onCreated={showCreated} />
      <NewLinkDialog urls={created?.urls} onClose={() => setCreated(undefined)} />
      {confirm.dialog}
    </Card>
  );
}

function LinkTable({ rows, ...rest }: PolicyTableProps<AccessLink>) {
  return (
    <DataTable
      label="Share links"
      bare
      columns={columnsOf(rest)}
      rows={rows}
      rowKey={({ id }) => id}
      searchText={({ name, createdBy }) => `${name} ${createdBy}`}
      noun="links"
      initialSort={{ key: 'name', direction: 'ascending' }}
    />
  );
}

function columnsOf({ readOnly, ...rest }: Omit<PolicyTableProps<AccessLink>, 'rows'>): readonly Column<AccessLink>[] {
  return [
    {
      key: 'name',
      header: 'Name',
      width: 'minmax(0, 1.2fr)',
      cell: ({ name }) => <span className="font-semibold">{name}</span>,
      sortBy: ({ name }) => name,
    },
    {
      key: 'uses',
      header: 'Uses',
      width: '6rem',
      cell: (link) => <span className="tabular">{usesOf(link)}</span>,
      sortBy: ({ uses }) => uses,
    },
    dateColumn('used', 'Last used', ({ usedAt }) => usedAt, 'first'),
    dateColumn('expires', 'Expires', ({ expiresAt }) => expiresAt, 'last'),
    ...(readOnly ? [] : [buttonColumn<AccessLink>('Revoke', '6rem', (link) => <RevokeLink link={link} {...rest} />)]),
  ];
}

function RevokeLink({
  link,
  policy,
  ...rest
}: Omit<PolicyTableProps<AccessLink>, 'rows' | 'readOnly'> & { readonly link: AccessLink }) {
  const project = useProject();
  return (
    <RevokeButton
      name={link.name}
      title="Revoke Share Link"
      warning={`The link ${link.name} stops working, and the sessions that began with it end within seconds.`}
      revoke={() => callApi(accessCalls.deleteAccessLink, { project: project.id, name: policy, id: link.id })}
      {...rest}
    />
  );
}

interface NewLinkDialogProps {
  /** One for each address of the policy's tunnels; undefined keeps the dialog closed. */
  readonly urls: readonly string[] | undefined;
  readonly onClose: () => void;
}

function NewLinkDialog({ urls, onClose }: NewLinkDialogProps) {
  // While the dialog fades out, the page's state no longer has the addresses.
  const shown = useLast(urls);
  return (
    <Dialog
      once
      open={urls !== undefined}
      onOpenChange={(open) => open || onClose()}
      title="Your new share link"
      description="Copy it now. It will not be shown again."
      actions={
        <Button variant="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <ul aria-label="Share link" className="grid max-h-80 gap-2 overflow-y-auto">
        {shown?.map((url) => (
          <li key={url} className="flex flex-wrap items-center gap-2 rounded-md border bg-sunken p-2 pl-3">
            <span className="min-w-0 flex-1 basis-56 font-mono text-sm break-all select-all">{url}</span>
            <CopyTextButton text={url} aria-label={`Copy the link to ${new URL(url).host}`} />
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
