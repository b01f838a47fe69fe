// Asks for a sign-in link (spec 2, Login page).
import { botCheckField } from '@underpass/rules/bot-check.ts';
import { type Login, type LoginField, parseLoginForm } from '@underpass/rules/login-form.ts';
import { text } from '@underpass/rules/text.ts';
import { useState } from 'react';
import { Link, redirect, useLocation } from 'react-router';
import { isApiError } from '../api/error.ts';
import { requestMagicLink } from '../api/session.ts';
import { BotCheck } from '../bot-check/bot-check.tsx';
import { TextField } from '../form/text-field.tsx';
import { useForm } from '../form/use-form.ts';
import { paths } from '../routing/paths.ts';
import { sessionEnded } from '../routing/return-path.ts';
import { loadSession } from '../session/session.ts';
import { Banner } from '../ui/banner.tsx';
import { Button } from '../ui/button.tsx';
import { MailSentIllustration } from '../ui/illustrations/mail-sent.tsx';
import { AuthCard, AuthOutcome } from './auth-card.tsx';

/** spec 2: a signed-in user is redirected to /. */
export async function loader() {
  return (await loadSession()) ? redirect(paths.home()) : null;
}

export function Component() {
  const [sentTo, setSentTo] = useState<string>();
  if (sentTo === undefined) return <LoginForm onSent={setSentTo} />;
  return (
    <AuthOutcome
      illustration={<MailSentIllustration />}
      title={text.login.sent(sentTo)}
      text="The link works once and for 15 minutes. Open it in this browser and you are signed in at once."
      action={<Button onClick={() => setSentTo(undefined)}>Use another email</Button>}
    />
  );
}

function LoginForm({ onSent }: { readonly onSent: (email: string) => void }) {
  const [attempt, setAttempt] = useState(0);
  const hasEnded = useLocation().state === sessionEnded;
  const form = useForm<LoginField, Login>({
    initial: { email: '', [botCheckField]: '' },
    parse: parseLoginForm,
    send: async ({ email, botCheck }) => {
      await requestMagicLink(loginFields(email, botCheck));
      onSent(email);
    },
    onFailure: (error) => {
      console.error(text.login.failedLog, isApiError(error) ? error.status : error);
      form.set(botCheckField, '');
      setAttempt(attempt + 1);
    },
  });
  return (
    <AuthCard
      title="Sign in"
      text={
        hasEnded
          ? 'Your session has ended. We send you a new link that leads back to where you were.'
          : 'We send you a link. There is no password to remember.'
      }
      foot={
        <>
          No account yet? <Link to={paths.register()}>Register</Link>
        </>
      }
    >
      <form ref={form.ref} noValidate onSubmit={form.onSubmit} className="grid gap-5">
        <TextField form={form} name="email" label="Email" type="email" autoComplete="email" inputMode="email" autoFocus />
        <BotCheck key={attempt} form={form} />
        {form.failure && (
          <Banner tone="danger" title="The login link could not be sent." onDismiss={form.dismissFailure}>
            {form.failure}
          </Banner>
        )}
        <Button type="submit" variant="primary" busy={form.busy} className="w-full">
          Sign in
        </Button>
      </form>
    </AuthCard>
  );
}

function loginFields(email: string, botCheck: string): FormData {
  const fields = new FormData();
  fields.set('email', email);
  fields.set(botCheckField, botCheck);
  return fields;
}
