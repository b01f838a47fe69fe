// Replaces a page that failed to load: the shell stays, and the panel shows the reason and a retry.
import { isRouteErrorResponse, useRevalidator, useRouteError } from 'react-router';
import { isApiError, mayRetry } from '../api/error.ts';
import { ErrorPanel } from '../ui/error-panel.tsx';

export function PageError() {
  const error = useRouteError();
  const { revalidate, state } = useRevalidator();
  // Other errors have messages for developers ("Failed to fetch dynamically imported module").
  const message = isRouteErrorResponse(error) ? error.statusText : isApiError(error) ? error.message : undefined;
  if (!isApiError(error)) console.error('Page failed', error);
  // A new version may have replaced the page's code: only a reload gets the new file names.
  const retry = isApiError(error) ? () => revalidate() : () => location.reload();
  return (
    <>
      <title>Something went wrong · Underpass</title>
      <h1 className="sr-only">Error</h1>
      <ErrorPanel message={message} onRetry={mayRetry(error) ? retry : undefined} busy={state === 'loading'} />
    </>
  );
}
