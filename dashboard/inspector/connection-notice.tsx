// Says that what the page shows is old, and what helps.
import type { ReactNode } from 'react';
import { Banner } from '../ui/banner.tsx';
import { NothingHere } from '../ui/nothing-here.tsx';
import { LoadingArea } from '../ui/spinner.tsx';
import { clockOf } from './list/rows.ts';
import type { Connection } from './state/use-inspector.ts';

export function ConnectionNotice({ connection }: { readonly connection: Connection }) {
  if (!('sinceMs' in connection)) return null;
  const asOf = clockOf(connection.sinceMs);
  return connection.kind === 'lost' ? (
    <Banner tone="warn" title={`As of ${asOf}: the client does not answer.`} className="m-3">
      It may have ended. Start it again with the same command; this page keeps trying.
    </Banner>
  ) : (
    <Banner tone="warn" title={`As of ${asOf}: the client has been started again.`} className="m-3">
      <OpenTheLink />
    </Banner>
  );
}

/** Shown before the client has answered once. */
export function FirstConnection({ connection }: { readonly connection: Connection }): ReactNode {
  if (connection.kind === 'opening') return <LoadingArea className="flex-1" />;
  return (
    <div className="m-4 grid flex-1 content-center justify-items-center">
      {connection.kind === 'refused' ? (
        <NothingHere title="This page needs its link" text={<OpenTheLink />} />
      ) : (
        <NothingHere
          title="The client does not answer"
          text="It may have ended. Start it again with the same command; this page keeps trying."
        />
      )}
    </div>
  );
}

function OpenTheLink() {
  return (
    <>
      Open the link that <code className="font-mono text-sm">underpass</code> printed, or run{' '}
      <code className="font-mono text-sm whitespace-nowrap">underpass inspect --open</code>.
    </>
  );
}
