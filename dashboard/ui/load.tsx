// Shows what a loader promised: a spinner meanwhile, the error panel with a retry if it failed. The page around it is there at once.
// A refresh that fails for the moment leaves what is there, with everything typed into it, and says so above.
import { text } from '@underpass/rules/text.ts';
import { Fragment, type ReactNode, Suspense, use, useRef } from 'react';
import { useLocation, useRevalidator } from 'react-router';
import { isPassing, mayRetry, messageOf } from '../api/error.ts';
import { Banner } from './banner.tsx';
import { Button } from './button.tsx';
import { ErrorPanel } from './error-panel.tsx';
import { LoadingArea } from './spinner.tsx';

export interface LoadProps<T> {
  readonly promise: Promise<T>;
  /** As tall as what comes, so that nothing jumps. */
  readonly fallback?: ReactNode;
  /** Above the spinner, where the page's head comes with the data. */
  readonly fallbackHeader?: ReactNode;
  /** Instead of the generic error panel, and of what is there when a refresh fails. */
  readonly failed?: ReactNode;
  /** The same above the error panel. */
  readonly failedHeader?: ReactNode;
  readonly children: (value: T) => ReactNode;
}

export function Load<T>({ promise, fallback = <LoadingArea />, fallbackHeader, ...loaded }: LoadProps<T>) {
  return (
    <Suspense
      fallback={
        <>
          {fallbackHeader}
          {fallback}
        </>
      }
    >
      <Loaded outcome={outcomeOf(promise)} {...loaded} />
    </Suspense>
  );
}

type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown };

const outcomes = new WeakMap<Promise<unknown>, Promise<Outcome<unknown>>>();

/** The same for the same promise, as React asks of what it waits for. */
function outcomeOf<T>(promise: Promise<T>): Promise<Outcome<T>> {
  let outcome = outcomes.get(promise) as Promise<Outcome<T>> | undefined;
  if (outcome) return outcome;
  outcome = promise.then(
    (value) => ({ ok: true, value }),
    (error: unknown) => ({ ok: false, error }),
  );
  outcomes.set(promise, outcome);
  return outcome;
}

interface LoadedProps<T> extends Pick<LoadProps<T>, 'failed' | 'failedHeader' | 'children'> {
  readonly outcome: Promise<Outcome<T>>;
}

function Loaded<T>({ outcome, failed, failedHeader, children }: LoadedProps<T>) {
  const { pathname, search } = useLocation();
  const address = pathname + search;
  const last = useRef<{ readonly address: string; readonly value: T }>(undefined);
  const result = use(outcome);
  if (result.ok) last.current = { address, value: result.value };
  const isKept = result.ok || (failed === undefined && last.current?.address === address && isPassing(result.error));
  if (!result.ok && !isKept) return failed ?? <LoadFailed error={result.error} header={failedHeader} />;
  return (
    <>
      {!result.ok && <NotRefreshed error={result.error} />}
      {/* What was typed and opened on the page of one thing is not on that of the next. */}
      <Fragment key={pathname}>{children(last.current!.value)}</Fragment>
    </>
  );
}

/** While the browser knows that it is offline, the notice of that says it all. */
function NotRefreshed({ error }: { readonly error: unknown }) {
  const { revalidate, state } = useRevalidator();
  if (!navigator.onLine) return null;
  const retry = (
    <Button size="sm" busy={state === 'loading'} onClick={() => revalidate()}>
      {text.error.retry}
    </Button>
  );
  return (
    <Banner tone="warn" title="This page could not be refreshed." action={retry} className="mb-6">
      {messageOf(error)}
    </Banner>
  );
}

function LoadFailed({ error, header }: { readonly error: unknown; readonly header: ReactNode }) {
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
