// The sign-in form, and what it says once the link is sent (spec 2, Login page). It needs no router.
import { sessionCalls } from '@underpass/rules/api/session-calls.ts';
import { botCheckField } from '@underpass/rules/people/bot-check.ts';
import { type Login, parseLoginForm } from '@underpass/rules/people/login-form.ts';
import { parseReturnPath } from '@underpass/rules/people/return-path.ts';
import { text } from '@underpass/rules/text/text.ts';
import { type ReactNode, useState } from 'react';
import { isApiError } from '../api/error.ts';
import { callApi } from '../api/request.ts';
import { TextField } from '../form/text-field.tsx';
import { useForm } from '../form/use-form.ts';
import { PasskeySignIn } from '../passkey/sign-in.tsx';
import { paths } from '../routing/paths.ts';
import { readReturnPath } from '../routing/return-path.ts';
import { Button } from '../ui/button.tsx';
import { MailSentIllustration } from '../ui/illustrations/mail-sent.tsx';
import type { PageLink } from '../ui/page-link.tsx';
import { AuthCard, AuthForm, AuthOutcome } from './auth-card.tsx';

interface SignInProps {
  readonly Link: PageLink;
  readonly title?: string;
  /** What the person reads first, if not how signing in works. */
  readonly lead?: ReactNode | undefined;
  /** Where a person without an account goes. */
  readonly registerPath?: string;
  /** What the email field begins with. */
  readonly email?: string;
  /** Opens the page that follows a sign-in with a passkey. */
  readonly open: (path: string) => Promise<void>;
}

export function SignIn(props: SignInProps) {
  const [sentTo, setSentTo] = useState<string>();
  if (sentTo === undefined) return <LoginForm {...props} onSent={setSentTo} />;
  return (
    <AuthOutcome
      illustration={<MailSentIllustration />}
      title={text.login.sent(sentTo)}
      text="The link works once and expires after 15 minutes. Open it in this browser to sign in."
      action={<Button onClick={() => setSentTo(undefined)}>Use another email</Button>}
    />
  );
}

interface LoginFormProps extends SignInProps {
  readonly onSent: (email: string) => void;
}

const howItWorks = 'We email you a login link instead of a password.';

function LoginForm({ Link, title = 'Sign in', lead, registerPath, email = '', open, onSent }: LoginFormProps) {
  const form = useForm({
    initial: { email, [botCheckField]: '' },
    parse: parseLoginForm,
    asks: false,
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
      title={title}
      text={lead ?? howItWorks}
      foot={
        <>
          No account yet?{' '}
          {registerPath === undefined ? (
            <Link to={paths.register()}>Register</Link>
          ) : (
            <Link to={registerPath}>Create an account</Link>
          )}
        </>
      }
    >
      <AuthForm form={form} failureTitle="The login link could not be sent." submitLabel="Sign in">
        <TextField form={form} name="email" label="Email" type="email" autoComplete="email" inputMode="email" autoFocus />
      </AuthForm>
      <PasskeySignIn open={open} />
    </AuthCard>
  );
}
