// Replaces a page that failed to load: the shell stays, and the panel shows the reason and a retry.
import { isRouteErrorResponse, useRouteError } from 'react-router';
import { isApiError } from '../api/error.ts';
import { CodeError } from '../api/retry-once.ts';
import { ErrorPanel } from '../ui/error-panel.tsx';
import { useHandOverFocus } from '../ui/hand-over-focus.ts';
import { usePageRetry } from './use-page-retry.ts';

export function PageError() {
  const error = useRouteError();
  const { retry, ...state } = usePageRetry(error);
  useHandOverFocus();
  // The messages of other errors are for developers.
  const isForUsers = isApiError(error) || error instanceof CodeError;
  const message = isRouteErrorResponse(error) ? error.statusText : isForUsers ? error.message : undefined;
  if (!isApiError(error)) console.error('Page failed', error);
  return (
    <>
      <title>Something went wrong · Underpass</title>
      <h1 tabIndex={-1} className="sr-only">
        Error
      </h1>
      <ErrorPanel message={message} onRetry={retry} {...state} />
    </>
  );
}
