// Shows the data that a loader promised: a spinner while it loads, the error panel with a retry if it fails. The page around it shows
// at once. If a refresh fails for a temporary reason, the old content and everything typed stays, under a notice.
import { text } from '@underpass/rules/text/text.ts';
import { Fragment, type ReactNode, Suspense, use, useEffect, useLayoutEffect, useReducer, useState } from 'react';
import { useLocation, useNavigationType, useRevalidator } from 'react-router';
import { Banner } from '../ui/banner.tsx';
import { Button } from '../ui/button.tsx';
import { ButtonLink } from '../ui/button-link.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { ErrorPanel } from '../ui/error-panel.tsx';
import { useHandOverFocus } from '../ui/hand-over-focus.ts';
import { LoadingArea } from '../ui/spinner.tsx';
import { useHasUnsaved } from '../unsaved/use-unsaved.ts';
import { isDeleted, isTemporary, mayRetry, messageOf } from './error.ts';
import { onForget } from './forget.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import { useAutoRetry } from './use-again.ts';

interface Thing {
  readonly name: string;
  /** The list that it was in. */
  readonly list: string;
  readonly listLabel: string;
}

interface LoadProps<T> {
  readonly promise: Promise<T>;
  /** A view as tall as the content, so that nothing jumps. */
  readonly fallback?: ReactNode;
  /** A header above the spinner, if the page's header depends on the data. */
  readonly fallbackHeader?: ReactNode;
  /** Replaces the generic error panel, and the old content when a refresh fails. */
  readonly failed?: ReactNode;
  /** What the page shows, for a page that it has shown and that somebody then deleted. The error may tell which of two is gone. */
  readonly thing?: Thing | ((error: unknown) => Thing);
  /** A header above the error panel. */
  readonly failedHeader?: ReactNode;
  /** Back shows the last value at once, where it was, while it loads again. For one part of a page. */
  readonly isKept?: boolean;
  readonly children: (value: T) => ReactNode;
}

/** The last value of each entry of the history. */
const kept = new Map<string, unknown>();
onForget(() => kept.clear());
const keptEntries = 20;

function keepValue(entry: string, value: unknown): void {
  kept.delete(entry);
  kept.set(entry, value);
  if (kept.size > keptEntries) for (const oldest of kept.keys()) return void kept.delete(oldest);
}

export function Load<T>({ promise, fallback = <LoadingArea />, fallbackHeader, ...loaded }: LoadProps<T>) {
  const { key } = useLocation();
  const isBack = useNavigationType() === 'POP' && loaded.isKept && kept.has(key);
  const outcome = outcomeOf(promise);
  const [, renderAgain] = useReducer((times: number) => times + 1, 0);
  return (
    <Suspense
      fallback={
        <Placeholder outcome={outcome} onSettled={renderAgain}>
          {fallbackHeader}
          {isBack ? loaded.children(kept.get(key) as T) : fallback}
        </Placeholder>
      }
    >
      <Loaded outcome={outcome} {...loaded} />
    </Suspense>
  );
}

interface PlaceholderProps {
  readonly outcome: Promise<unknown>;
  readonly onSettled: () => void;
  readonly children: ReactNode;
}

/** React keeps a placeholder for 300 ms, unless something other than its promise renders the content. */
function Placeholder({ outcome, onSettled, children }: PlaceholderProps) {
  useHandOverFocus();
  useLayoutEffect(() => {
    let isShown = true;
    void outcome.then(() => isShown && onSettled());
    return () => {
      isShown = false;
    };
  }, [outcome, onSettled]);
  return children;
}

interface LoadedProps<T> extends Pick<LoadProps<T>, 'failed' | 'failedHeader' | 'thing' | 'isKept' | 'children'> {
  readonly outcome: Promise<Outcome<T>>;
}

function Loaded<T>({ outcome, failed, failedHeader, thing, isKept: keeps, children }: LoadedProps<T>) {
  const { pathname, search, key } = useLocation();
  const address = pathname + search;
  const [last, setLast] = useState<{ readonly address: string; readonly value: T }>();
  const result = use(outcome);
  const hasUnsaved = useHasUnsaved();
  const isNew = result.ok && !(last?.address === address && last.value === result.value);
  const now = isNew ? { address, value: result.value } : last;
  if (isNew) setLast(now);
  useEffect(() => {
    if (keeps && result.ok) keepValue(key, result.value);
  }, [keeps, key, result]);
  const wasShown = now?.address === address;
  // Only what is typed could be worth keeping after the end of the session, or of the thing itself.
  const isKept = result.ok || (failed === undefined && wasShown && (hasUnsaved || isTemporary(result.error)));
  if (!result.ok && !isKept && thing && wasShown && isDeleted(result.error)) {
    return <Deleted {...(typeof thing === 'function' ? thing(result.error) : thing)} header={failedHeader} />;
  }
  if (!result.ok && !isKept) return failed ?? <LoadFailed error={result.error} header={failedHeader} />;
  return (
    <>
      {!result.ok && <NotRefreshed error={result.error} />}
      {/* The key resets typed text and open panels when the page changes to another item. */}
      <Fragment key={pathname}>{children(now!.value)}</Fragment>
    </>
  );
}

/** Replaces the page of something that was there before. */
function Deleted({ name, list, listLabel, header }: Thing & { readonly header: ReactNode }) {
  useHandOverFocus();
  return (
    <>
      {header}
      <EmptyState
        title={`‘${name}’ was deleted.`}
        text="Somebody deleted it while this page was open."
        action={<ButtonLink to={list}>{listLabel}</ButtonLink>}
      />
    </>
  );
}

/** Hidden while the browser is offline: the offline notice covers that. */
function NotRefreshed({ error }: { readonly error: unknown }) {
  const { revalidate, state } = useRevalidator();
  useAutoRetry(error, revalidate);
  useHandOverFocus();
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
  useAutoRetry(error, revalidate);
  useHandOverFocus();
  return (
    <>
      {header}
      <ErrorPanel
        message={messageOf(error)}
        retriesItself={isTemporary(error)}
        onRetry={mayRetry(error) ? () => revalidate() : undefined}
        busy={state === 'loading'}
      />
    </>
  );
}
