// The files of one release: platform, size, checksum.
import type { Release, ReleaseFile } from '@underpass/rules/entity/resource.ts';
import { formatSize } from '@underpass/rules/text/size.ts';
import { Download } from 'lucide-react';
import { buttonClass } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { NothingHere } from '../../ui/nothing-here.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { inOrder, platformLabel } from './platform.ts';

export function FileTable({ release }: { readonly release: Release }) {
  return (
    <DataTable
      label={`Files of ${release.version}`}
      columns={fileColumns}
      rows={inOrder(release.files)}
      rowKey={({ name }) => name}
    />
  );
}

export function NoReleases() {
  return <NothingHere title="No Releases" text="This server has no releases yet. In a clone of the source, run npx underpass." />;
}

const fileColumns: readonly Column<ReleaseFile>[] = [
  {
    key: 'platform',
    header: 'Platform',
    width: 'minmax(0, 1.2fr)',
    cell: ({ platform }) => <span className="font-semibold">{platformLabel(platform)}</span>,
  },
  { key: 'size', header: 'Size', width: '5.5rem', cell: ({ size }) => <span className="tabular">{formatSize(size)}</span> },
  { key: 'sha256', header: 'SHA-256', width: 'minmax(0, 2.4fr)', cell: (file) => <Checksum file={file} /> },
  {
    key: 'download',
    header: 'Download',
    hideHeader: true,
    width: '8rem',
    align: 'end',
    cell: ({ name, url }) => (
      <a href={url} download={name} aria-label={`Download ${name}`} className={buttonClass('secondary', 'sm')}>
        <Download aria-hidden="true" />
        Download
      </a>
    ),
  },
];

function Checksum({ file }: { readonly file: ReleaseFile }) {
  return (
    <span className="flex items-center gap-1">
      <span className="min-w-0 font-mono text-xs break-all">{file.sha256}</span>
      <CopyButton text={file.sha256} what={`checksum of ${file.name}`} />
    </span>
  );
}
