// The share links of a policy: created, shown once, revoked.

import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import type { AnswerOf } from '@underpass/rules/api/call.ts';
import type { AccessLink } from '@underpass/rules/visit/access-policy.ts';
import { usesOf } from '@underpass/rules/visit/words.ts';
import { askFor } from '../../api/answers.ts';
import { callApi } from '../../api/request.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { useProject } from '../../session/session.ts';
import { AddButton } from '../../ui/add-button.tsx';
import { Button } from '../../ui/button.tsx';
import { CopyTextButton } from '../../ui/copy-button.tsx';
import { Dialog } from '../../ui/overlay/dialog.tsx';
import { dateColumn, figureColumn, nameColumn } from '../../ui/table/columns.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { useLast } from '../../ui/use-last.ts';
import { NewLinkPanel } from './new-link-panel.tsx';
import { RevocableCard, useCreated } from './revocable-card.tsx';
import type { PolicyTabProps } from './tokens.tsx';

type NewLink = AnswerOf<typeof accessCalls.createAccessLink>;

const columns: readonly Column<AccessLink>[] = [
  nameColumn('Name', 'minmax(0, 1.2fr)'),
  { ...figureColumn('uses', 'Uses', '6rem', usesOf), sortBy: ({ uses }) => uses },
  dateColumn('used', 'Last used', ({ usedAt }) => usedAt, 'first'),
  dateColumn('expires', 'Expires', ({ expiresAt }) => expiresAt, 'last'),
];

export function Links({ policy: { name: policy, tunnels }, readOnly }: PolicyTabProps) {
  const project = useProject().id;
  const links = useFetched(askFor(accessCalls.listAccessLinks, { project, name: policy }));
  const { panel, created, forget } = useCreated<NewLink>(links);
  const create = !readOnly && tunnels.length > 0 && (
    <AddButton size="sm" onClick={() => panel.onOpenChange(true)}>
      Create link
    </AddButton>
  );
  return (
    <RevocableCard
      title="Share links"
      description="Anyone with a link can visit until it expires, is used up or is revoked."
      actions={create}
      emptyText={
        tunnels.length === 0 ? 'A link needs an address. Edit an http tunnel and select this policy first.' : 'No share links.'
      }
      fetched={links}
      readOnly={readOnly}
      columns={columns}
      searchText={({ name, createdBy }) => `${name} ${createdBy}`}
      noun="links"
      initialSort={{ key: 'name', direction: 'ascending' }}
      revoking={({ name, id }) => ({
        title: 'Revoke Share Link',
        warning: `The link ${name} stops working, and the sessions that began with it end within seconds.`,
        revoke: () => callApi(accessCalls.deleteAccessLink, { project, name: policy, id }),
      })}
    >
      <NewLinkPanel policy={policy} {...panel} />
      <NewLinkDialog urls={created?.urls} onClose={forget} />
    </RevocableCard>
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
