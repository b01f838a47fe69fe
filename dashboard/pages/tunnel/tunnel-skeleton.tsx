// The tunnel's page while it loads: the same frame at the same height.
import { PageHeader } from '../../ui/page-header.tsx';
import { LoadingArea, Skeleton } from '../../ui/spinner.tsx';

export function TunnelSkeleton({ name, back }: { readonly name: string; readonly back: string }) {
  return (
    <>
      <PageHeader title={name} back={back} subtitle={<Skeleton className="mt-1 h-5 w-72 max-w-full" />} />
      <div className="grid gap-5">
        <div className="h-40 rounded-lg border bg-surface" />
        <RestSkeleton />
      </div>
    </>
  );
}

/** Everything below the metrics. */
export function RestSkeleton() {
  return <LoadingArea label="Loading tunnel" className="h-64 rounded-lg border bg-surface" />;
}
