// A page inside a shell that could not be loaded: the shell stays, the panel says why and offers what helps.
import { isRouteErrorResponse, useRevalidator, useRouteError } from 'react-router';
import { isApiError, mayRetry } from '../api/error.ts';
import { ErrorPanel } from '../ui/error-panel.tsx';

export function PageError() {
  const error = useRouteError();
  const { revalidate, state } = useRevalidator();
  // What else is thrown is the browser's or ours, in words for developers ("Failed to fetch dynamically imported module").
  const message = isRouteErrorResponse(error) ? error.statusText : isApiError(error) ? error.message : undefined;
  if (!isApiError(error)) console.error('Page failed', error);
  // Code that is gone since a new version came is not found by asking again: the document knows the new names.
  const retry = isApiError(error) ? () => revalidate() : () => location.reload();
  return (
    <>
      <title>Something went wrong · Underpass</title>
      <h1 className="sr-only">Error</h1>
      <ErrorPanel message={message} onRetry={mayRetry(error) ? retry : undefined} busy={state === 'loading'} />
    </>
  );
}
