// Completes the sign-in from the mailed link (spec 2, Token sign-in page). In the browser that requested the link the page posts the
// token by itself, and so does a token that no longer works, which fails at once. In any other browser the user presses a button first,
// because mail scanners run scripts, and somebody else may have had the link sent.
import { sessionCalls } from '@underpass/rules/api/session-calls.ts';
import { text } from '@underpass/rules/text/text.ts';
import { useEffect, useState } from 'react';
import { type LoaderFunctionArgs, redirect, useLoaderData, useLocation, useNavigate } from 'react-router';
import { isApiError, messageOf } from '../api/error.ts';
import { onForget } from '../api/forget.ts';
import { callApi } from '../api/request.ts';
import { paths } from '../routing/paths.ts';
import { forgetSession, loadSession } from '../session/session.ts';
import { startPath } from '../session/start-path.ts';
import { Button } from '../ui/button.tsx';
import { ButtonLink } from '../ui/button-link.tsx';
import { WentWrongIllustration } from '../ui/illustrations/went-wrong.tsx';
import { LoadingArea } from '../ui/spinner.tsx';
import { AuthCard, AuthOutcome } from './auth-card.tsx';

export async function loader({ params }: LoaderFunctionArgs) {
  if (await loadSession()) return redirect(paths.home());
  const { token } = params;
  if (!token) return redirect(paths.login());
  return { token, asks: await mustAsk(token) };
}

/** True if the check fails: the page shows the button, which is safe. */
async function mustAsk(token: string): Promise<boolean> {
  const check = await callApi(sessionCalls.checkLoginLink, { payload: { token } }).catch(() => undefined);
  return !(check?.sameBrowser === true || check?.usable === false);
}

type State = { readonly name: 'question' | 'posting' } | { readonly name: 'failed'; readonly error: unknown };

export function Component() {
  const { token, asks } = useLoaderData<typeof loader>() as { readonly token: string; readonly asks: boolean };
  const [state, setState] = useState<State>({ name: asks ? 'question' : 'posting' });
  const navigate = useNavigate();
  const { hash } = useLocation();
  const post = () => setState({ name: 'posting' });
  useEffect(() => {
    if (state.name !== 'posting') return;
    redeem(token).then(
      async () => navigate(await startPath(hash), { replace: true }),
      (error: unknown) => setState({ name: 'failed', error }),
    );
  }, [state, token, navigate, hash]);
  if (state.name === 'failed') return <LoginFailed error={state.error} onRetry={post} />;
  if (state.name === 'posting') return <LoadingArea label="Signing in" className="flex-1" />;
  return (
    <AuthCard title="Sign in" text="This link was requested in another browser. Sign in only if you requested it.">
      <Button variant="primary" className="w-full" onClick={post}>
        Sign in here
      </Button>
    </AuthCard>
  );
}

const posts = new Map<string, Promise<void>>();
onForget(() => posts.clear());

/** Posts each token once, however often React renders the page: a link works once. A post without a verdict may be repeated. */
function redeem(token: string): Promise<void> {
  const post = posts.get(token) ?? callApi(sessionCalls.redeemLoginLink, { payload: { token } }).then(forgetSession);
  posts.set(token, post);
  post.catch((error: unknown) => isVerdict(error) || posts.delete(token));
  return post;
}

/** True if control refused the link. Any other failure says nothing about the link. */
const isVerdict = (error: unknown) => isApiError(error) && error.status >= 400 && error.status < 500 && error.status !== 429;

function LoginFailed({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  const refused = isVerdict(error);
  return (
    <AuthOutcome
      illustration={<WentWrongIllustration />}
      title={text.login.failedTitle}
      text={refused ? text.login.failed : (messageOf(error) ?? text.error.fallback)}
      action={
        refused ? <ButtonLink to={paths.login()}>Sign in</ButtonLink> : <Button onClick={onRetry}>{text.error.retry}</Button>
      }
    />
  );
}
