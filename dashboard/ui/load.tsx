// Shows what a loader promised: a spinner meanwhile, the error panel with a retry if it failed. The page around it is there at once.
import { type ReactNode, Suspense } from 'react';
import { Await, useAsyncError, useRevalidator } from 'react-router';
import { mayRetry, messageOf } from '../api/error.ts';
import { ErrorPanel } from './error-panel.tsx';
import { LoadingArea } from './spinner.tsx';

export interface LoadProps<T> {
  readonly promise: Promise<T>;
  /** As tall as what comes, so that nothing jumps. */
  readonly fallback?: ReactNode;
  /** Above the spinner, where the page's head comes with the data. */
  readonly fallbackHeader?: ReactNode;
  /** Instead of the generic error panel. */
  readonly failed?: ReactNode;
  /** The same above the error panel. */
  readonly failedHeader?: ReactNode;
  readonly children: (value: T) => ReactNode;
}

export function Load<T>({
  promise,
  fallback = <LoadingArea />,
  fallbackHeader,
  failedHeader,
  failed = <LoadFailed header={failedHeader} />,
  children,
}: LoadProps<T>) {
  return (
    <Suspense
      fallback={
        <>
          {fallbackHeader}
          {fallback}
        </>
      }
    >
      <Await resolve={promise as T} errorElement={failed}>
        {children as (value: Awaited<T>) => ReactNode}
      </Await>
    </Suspense>
  );
}

function LoadFailed({ header }: { readonly header: ReactNode }) {
  const error = useAsyncError();
  const { revalidate, state } = useRevalidator();
  return (
    <>
      {header}
      <ErrorPanel
        message={messageOf(error)}
        onRetry={mayRetry(error) ? () => revalidate() : undefined}
        busy={state === 'loading'}
      />
    </>
  );
}
