// The page for a rendering error that nothing else caught (spec 2, Generic error panel).
import { text } from '@underpass/rules/text.ts';
import { useRouteError } from 'react-router';
import { messageOf } from '../api/error.ts';
import { ErrorPanel } from '../ui/error-panel.tsx';

export function ApplicationError() {
  const error = useRouteError();
  console.error('Unexpected application error', error);
  return (
    <main className="mx-auto grid max-w-2xl gap-6 px-4 py-16">
      <title>{`${text.error.uncaught} · Underpass`}</title>
      <h1 className="text-2xl font-bold">{text.error.uncaught}</h1>
      <ErrorPanel message={messageOf(error)} onRetry={() => location.reload()} />
    </main>
  );
}
