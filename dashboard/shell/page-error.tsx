// A page inside a shell that could not be loaded: the shell stays, the panel says why and offers what helps.
import { isRouteErrorResponse, useRevalidator, useRouteError } from 'react-router';
import { isApiError, messageOf } from '../api/error.ts';
import { ErrorPanel } from '../ui/error-panel.tsx';

/** Statuses that stay the same however often one asks. */
const FINAL_STATUSES: ReadonlySet<number> = new Set([400, 403, 404, 410]);

export function PageError() {
  const error = useRouteError();
  const { revalidate, state } = useRevalidator();
  const status = isApiError(error) || isRouteErrorResponse(error) ? error.status : undefined;
  const message = isRouteErrorResponse(error) ? error.statusText : messageOf(error);
  const final = status !== undefined && FINAL_STATUSES.has(status);
  if (status === undefined) console.error('Page failed', error);
  return (
    <>
      <title>Something went wrong · Underpass</title>
      <h1 className="sr-only">Error</h1>
      <ErrorPanel message={message} onRetry={final ? undefined : () => revalidate()} busy={state === 'loading'} />
    </>
  );
}
