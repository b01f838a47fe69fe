// Requests a sign-in link (spec 2, Login page).
import { sessionCalls } from '@underpass/rules/api/session-calls.ts';
import { botCheckField } from '@underpass/rules/bot-check.ts';
import { type Login, parseLoginForm } from '@underpass/rules/login-form.ts';
import { parseReturnPath, parseVisitorPath } from '@underpass/rules/return-path.ts';
import { text } from '@underpass/rules/text.ts';
import { useState } from 'react';
import { Link, redirect, useLocation } from 'react-router';
import { isApiError } from '../api/error.ts';
import { callApi } from '../api/request.ts';
import { TextField } from '../form/text-field.tsx';
import { useForm } from '../form/use-form.ts';
import { PasskeySignIn } from '../passkey/sign-in.tsx';
import { paths } from '../routing/paths.ts';
import { keepReturnPath, readReturnPath, sessionEnded } from '../routing/return-path.ts';
import { loadSession } from '../session/session.ts';
import { Button } from '../ui/button.tsx';
import { MailSentIllustration } from '../ui/illustrations/mail-sent.tsx';
import { AuthCard, AuthForm, AuthOutcome } from './auth-card.tsx';

/** spec 2: a signed-in user is redirected to /. A member who came from the sign-in of a tunnel's visitors goes back there. */
export async function loader() {
  const visit = parseVisitorPath(location.hash.slice(1));
  if (await loadSession()) return redirect(visit ?? paths.home());
  if (visit !== undefined) keepReturnPath(visit);
  return null;
}

export function Component() {
  const [sentTo, setSentTo] = useState<string>();
  if (sentTo === undefined) return <LoginForm onSent={setSentTo} />;
  return (
    <AuthOutcome
      illustration={<MailSentIllustration />}
      title={text.login.sent(sentTo)}
      text="The link works once and expires after 15 minutes. Open it in this browser to sign in."
      action={<Button onClick={() => setSentTo(undefined)}>Use another email</Button>}
    />
  );
}

function LoginForm({ onSent }: { readonly onSent: (email: string) => void }) {
  const hasEnded = useLocation().state === sessionEnded;
  const form = useForm({
    initial: { email: '', [botCheckField]: '' },
    parse: parseLoginForm,
    send: async ({ email, botCheck }: Login) => {
      try {
        const path = parseReturnPath(readReturnPath(email) ?? '');
        await callApi(sessionCalls.requestLoginLink, {
          ...(path === undefined ? {} : { path }),
          payload: { email, [botCheckField]: botCheck },
        });
      } catch (error) {
        console.error(text.login.failedLog, isApiError(error) ? error.status : error);
        throw error;
      }
      onSent(email);
    },
  });
  return (
    <AuthCard
      title="Sign in"
      text={
        hasEnded
          ? 'Your session has ended. Sign in again to return to the page you were on.'
          : 'We email you a login link instead of a password.'
      }
      foot={
        <>
          No account yet? <Link to={paths.register()}>Register</Link>
        </>
      }
    >
      <AuthForm form={form} failureTitle="The login link could not be sent." submitLabel="Sign in">
        <TextField form={form} name="email" label="Email" type="email" autoComplete="email" inputMode="email" autoFocus />
      </AuthForm>
      <PasskeySignIn />
    </AuthCard>
  );
}
