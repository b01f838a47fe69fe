// The page for an error that nothing else caught: the shell or its session failed to load, or rendering failed (spec 2, Generic error
// panel).
import { text } from '@underpass/rules/text/text.ts';
import { useRouteError } from 'react-router';
import { isTemporary, messageOf } from '../api/error.ts';
import { ErrorPanel } from '../ui/error-panel.tsx';
import { PageError } from './page-error.tsx';

export function ApplicationError() {
  const error = useRouteError();
  return (
    <main className="mx-auto grid max-w-2xl gap-6 px-4 py-16">
      {isTemporary(error) ? <PageError /> : <Uncaught error={error} />}
    </main>
  );
}

function Uncaught({ error }: { readonly error: unknown }) {
  console.error('Unexpected application error', error);
  return (
    <>
      <title>{`${text.error.uncaught} · Underpass`}</title>
      <h1 className="text-2xl font-bold">{text.error.uncaught}</h1>
      <ErrorPanel message={messageOf(error)} onRetry={() => location.reload()} />
    </>
  );
}
