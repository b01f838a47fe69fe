// Registers for the closed preview (spec 2, Register page).
import type { PayloadOf } from '@underpass/rules/api/call.ts';
import { publicCalls } from '@underpass/rules/api/public-calls.ts';
import { sessionCalls } from '@underpass/rules/api/session-calls.ts';
import type { OperatorIdentity } from '@underpass/rules/entity/resource.ts';
import { botCheckField } from '@underpass/rules/people/bot-check.ts';
import { parseRegistration, type Registration, type RegistrationField } from '@underpass/rules/people/registration.ts';
import { text } from '@underpass/rules/text/text.ts';
import { useState } from 'react';
import { Link, type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { isApiError, messageOf } from '../api/error.ts';
import { callApi } from '../api/request.ts';
import { TextField } from '../form/text-field.tsx';
import { type Form, useForm } from '../form/use-form.ts';
import { paths } from '../routing/paths.ts';
import { RegisteredIllustration } from '../ui/illustrations/registered.tsx';
import { FieldError } from '../ui/input/field.tsx';
import { Checkbox } from '../ui/input/input.tsx';
import { AuthCard, AuthForm, AuthOutcome } from './auth-card.tsx';
import { parseLegalDocument } from './legal/legal-document.ts';
import { LegalText } from './legal/legal-text.tsx';
import privacyPolicy from './legal/privacy-policy.md?raw';
import termsOfService from './legal/terms-of-service.md?raw';

export const loader = ({ request }: LoaderFunctionArgs) => callApi(publicCalls.getMeta, {}, { signal: request.signal });

export function Component() {
  const { operator } = useLoaderData<typeof loader>();
  const [done, setDone] = useState(false);
  if (!done) return <RegisterForm operator={operator} onDone={() => setDone(true)} />;
  return <AuthOutcome illustration={<RegisteredIllustration />} title={text.register.doneTitle} text={text.register.done} />;
}

type RegistrationTexts = Readonly<Record<RegistrationField, string>>;

const empty: RegistrationTexts = {
  'first-name': '',
  'last-name': '',
  email: '',
  company: '',
  'github-link': '',
  'twitter-link': '',
  'accept-terms': '',
  [botCheckField]: '',
};

function RegisterForm({ operator, onDone }: { readonly operator: OperatorIdentity; readonly onDone: () => void }) {
  const form = useForm({
    initial: empty,
    parse: parseRegistration,
    send: async (registration: Registration) => {
      try {
        await callApi(sessionCalls.register, { payload: registrationPayload(registration) });
      } catch (error) {
        console.error('Registration failed', isApiError(error) ? error.status : undefined, messageOf(error));
        throw error;
      }
      onDone();
    },
  });
  return (
    <AuthCard
      title="Register"
      text="Underpass is in a closed preview. Register with the email address of your subscription. We email you once you are approved."
      foot={
        <>
          Already registered? <Link to={paths.login()}>Sign in</Link>
        </>
      }
      wide
    >
      <AuthForm form={form} failureTitle="Registration failed." submitLabel="Register">
        <PersonFields form={form} />
        <TermsAndPrivacy operator={operator} />
        <AcceptTerms form={form} />
      </AuthForm>
    </AuthCard>
  );
}

function PersonFields({ form }: { readonly form: Form<RegistrationTexts> }) {
  return (
    <div className="grid gap-5 sm:grid-cols-2">
      <TextField form={form} name="first-name" label="First name" autoComplete="given-name" required />
      <TextField form={form} name="last-name" label="Last name" autoComplete="family-name" required />
      <TextField form={form} name="email" label="Email" type="email" autoComplete="email" inputMode="email" required />
      <TextField form={form} name="company" label="Company" autoComplete="organization" optional />
      <TextField form={form} name="github-link" label="GitHub account" autoCapitalize="none" spellCheck={false} optional />
      <TextField form={form} name="twitter-link" label="X account" autoCapitalize="none" spellCheck={false} optional />
    </div>
  );
}

function TermsAndPrivacy({ operator }: { readonly operator: OperatorIdentity }) {
  const terms = parseLegalDocument(termsOfService, operator);
  const policy = parseLegalDocument(privacyPolicy, operator);
  return (
    <section
      aria-label="Terms of service and privacy policy"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach a scrolling area (WCAG 2.1.1).
      tabIndex={0}
      className="grid max-h-64 gap-6 overflow-y-auto rounded-md border bg-sunken/50 p-4 text-sm"
    >
      <h2 className="text-lg font-bold">{terms.title}</h2>
      <LegalText document={terms} headingLevel={3} idPrefix="terms-" />
      <h2 className="text-lg font-bold">{policy.title}</h2>
      <LegalText document={policy} headingLevel={3} idPrefix="privacy-" />
    </section>
  );
}

const acceptErrorId = 'accept-terms-error';

function AcceptTerms({ form }: { readonly form: Form<RegistrationTexts> }) {
  const error = form.errors['accept-terms'];
  return (
    <div className="grid gap-1.5">
      <Checkbox
        name="accept-terms"
        value="true"
        required
        checked={form.values['accept-terms'] !== ''}
        aria-invalid={error ? true : undefined}
        aria-describedby={error ? acceptErrorId : undefined}
        onChange={(event) => form.set('accept-terms', event.target.checked ? 'true' : '')}
      >
        I am 18 or older, and I accept the terms of service and the privacy policy.
      </Checkbox>
      <FieldError id={acceptErrorId} text={error} />
    </div>
  );
}

function registrationPayload(registration: Registration): PayloadOf<typeof sessionCalls.register> {
  return {
    'first-name': registration.firstName,
    'last-name': registration.lastName,
    email: registration.email,
    company: registration.company,
    'github-link': registration.github,
    'twitter-link': registration.x,
    'accept-terms': 'true',
    [botCheckField]: registration.botCheck,
  };
}
