// Every release of the command line client, newest first.
import { publicCalls } from '@underpass/rules/api/public-calls.ts';
import type { Release } from '@underpass/rules/entity/resource.ts';
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { later } from '../../api/later.ts';
import { Load } from '../../api/load.tsx';
import { callApi } from '../../api/request.ts';
import { paths } from '../../routing/paths.ts';
import { Badge } from '../../ui/badge.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { FileTable, NoReleases } from './release-files.tsx';

export const loader = ({ request }: LoaderFunctionArgs) => ({
  releases: later(callApi(publicCalls.listReleases, {}, { signal: request.signal })),
});

export function Component() {
  const { releases } = useLoaderData<typeof loader>();
  return (
    <>
      <PageHeader title="Releases" subtitle="All CLI versions that you can download here." back={paths.download()} />
      <Load promise={releases}>{(loaded) => <ReleaseList releases={loaded} />}</Load>
    </>
  );
}

function ReleaseList({ releases }: { readonly releases: readonly Release[] }) {
  if (releases.length === 0) return <NoReleases />;
  return (
    <div className="grid gap-8">
      {releases.map((release, index) => (
        <section key={release.version} aria-label={`Version ${release.version}`} className="grid gap-3">
          <h2 className="flex items-center gap-2.5 text-lg font-bold">
            {release.version}
            {index === 0 && <Badge tone="ok">Latest</Badge>}
          </h2>
          <FileTable release={release} />
        </section>
      ))}
    </div>
  );
}
