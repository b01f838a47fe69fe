// Replaces a page that failed to load or to render: the shell stays, and the panel shows the reason and a retry.
import { text } from '@underpass/rules/text/text.ts';
import { isRouteErrorResponse, useRouteError } from 'react-router';
import { isApiError } from '../api/error.ts';
import { CodeError } from '../code-loading/load-code.ts';
import { ErrorPanel } from '../ui/error-panel.tsx';
import { useHandOverFocus } from '../ui/hand-over-focus.ts';
import { usePageRetry } from './use-page-retry.ts';

export function PageError() {
  const error = useRouteError();
  const { retry, ...state } = usePageRetry(error);
  useHandOverFocus();
  // The messages of other errors, of rendering for example, are for developers.
  const isForUsers = isApiError(error) || error instanceof CodeError;
  const message = isRouteErrorResponse(error) ? error.statusText : isForUsers ? error.message : undefined;
  const isUncaught = !isForUsers && !isRouteErrorResponse(error);
  if (!isApiError(error)) console.error('Page failed', error);
  return (
    <>
      <title>Something went wrong · Underpass</title>
      <h1 tabIndex={-1} className={isUncaught ? 'mb-6 text-2xl font-bold' : 'sr-only'}>
        {isUncaught ? text.error.uncaught : 'Error'}
      </h1>
      <ErrorPanel message={message} onRetry={retry} {...state} />
    </>
  );
}
