// Completes the sign-in from the mailed link (spec 2, Token sign-in page). The page posts the token by itself only in the
// browser that asked for the link; any other shows one button, because mail scanners run scripts (design 4).
import { text } from '@underpass/rules/text.ts';
import { useEffect, useState } from 'react';
import { type LoaderFunctionArgs, redirect, useLoaderData, useNavigate } from 'react-router';
import { isApiError, messageOf } from '../api/error.ts';
import { checkLoginLink, login } from '../api/session.ts';
import { paths } from '../routing/paths.ts';
import { takeReturnPath } from '../routing/return-path.ts';
import { forgetSession, loadSession } from '../session/session.ts';
import { Button, ButtonLink } from '../ui/button.tsx';
import { WentWrongIllustration } from '../ui/illustrations/went-wrong.tsx';
import { LoadingArea } from '../ui/spinner.tsx';
import { AuthCard, AuthOutcome } from './auth-card.tsx';

export async function loader({ params }: LoaderFunctionArgs) {
  if (await loadSession()) return redirect(paths.home());
  const { token } = params;
  if (!token) return redirect(paths.login());
  return { token, sameBrowser: await asksHere(token) };
}

/** Where the check itself fails, the button is the safe answer. */
async function asksHere(token: string): Promise<boolean> {
  const check = await checkLoginLink(token).catch(() => undefined);
  return check?.sameBrowser === true;
}

type State = { readonly name: 'question' | 'posting' } | { readonly name: 'failed'; readonly error: unknown };

export function Component() {
  const { token, sameBrowser } = useLoaderData<typeof loader>() as { readonly token: string; readonly sameBrowser: boolean };
  const [state, setState] = useState<State>({ name: sameBrowser ? 'posting' : 'question' });
  const navigate = useNavigate();
  const post = () => setState({ name: 'posting' });
  useEffect(() => {
    if (state.name !== 'posting') return;
    redeem(token).then(
      async () => navigate(await startPath(), { replace: true }),
      (error: unknown) => setState({ name: 'failed', error }),
    );
  }, [state, token, navigate]);
  if (state.name === 'failed') return <LoginFailed error={state.error} onRetry={post} />;
  if (state.name === 'posting') return <LoadingArea label="Signing in" className="flex-1" />;
  return (
    <AuthCard title="Sign in" text="This link was not asked for in this browser. Continue if it was you.">
      <Button variant="primary" className="w-full" onClick={post}>
        Sign in here
      </Button>
    </AuthCard>
  );
}

/** Where this person left off, else home; a session that cannot be had now is home's to ask for again. */
async function startPath(): Promise<string> {
  const session = await loadSession().catch(() => undefined);
  return takeReturnPath(session?.user.email) ?? paths.home();
}

const posts = new Map<string, Promise<void>>();

/** One post for one token, however often the page is drawn: a link works once. A post that got no verdict may be repeated. */
function redeem(token: string): Promise<void> {
  const post = posts.get(token) ?? login(token).then(forgetSession);
  posts.set(token, post);
  post.catch((error: unknown) => isVerdict(error) || posts.delete(token));
  return post;
}

/** The link itself was refused; anything else says nothing about it. */
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
