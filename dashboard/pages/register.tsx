// Registers for the closed preview (spec 2, Register page), also an invited person, who then learns who must approve the account.
import type { PayloadOf } from '@underpass/rules/api/call.ts';
import { publicCalls } from '@underpass/rules/api/public-calls.ts';
import { sessionCalls } from '@underpass/rules/api/session-calls.ts';
import type { OpenOffer, OperatorIdentity } from '@underpass/rules/entity/resource.ts';
import { botCheckField } from '@underpass/rules/people/bot-check.ts';
import { parseRegistration, type Registration, type RegistrationField } from '@underpass/rules/people/registration.ts';
import { text } from '@underpass/rules/text/text.ts';
import { useState } from 'react';
import { Link, type LoaderFunctionArgs, redirect, useLoaderData } from 'react-router';
import { isApiError, messageOf } from '../api/error.ts';
import { callApi } from '../api/request.ts';
import { hasChanged } from '../form/has-changed.ts';
import { TextField } from '../form/text-field.tsx';
import { type Form, useForm } from '../form/use-form.ts';
import { paths } from '../routing/paths.ts';
import { Breakable } from '../ui/breakable.tsx';
import { RegisteredIllustration } from '../ui/illustrations/registered.tsx';
import { FieldError } from '../ui/input/field.tsx';
import { Checkbox } from '../ui/input/input.tsx';
import { AuthCard, AuthForm, AuthOutcome } from './auth-card.tsx';
import { parseLegalDocument } from './legal/legal-document.ts';
import { LegalText } from './legal/legal-text.tsx';
import privacyPolicy from './legal/privacy-policy.md?raw';
import termsOfService from './legal/terms-of-service.md?raw';
import { loadOffer } from './load-offer.ts';

interface Invited {
  readonly token: string;
  readonly offer: OpenOffer;
}

export async function loader({ params: { token }, request: { signal } }: LoaderFunctionArgs) {
  const meta = callApi(publicCalls.getMeta, {}, { signal });
  if (token === undefined) return { operator: (await meta).operator, invited: undefined };
  const [{ operator }, offer] = await Promise.all([meta, loadOffer(token, signal)]);
  // The page of the invitation says what is wrong with it.
  if (typeof offer === 'string' || 'joined' in offer) return redirect(paths.invitation(token));
  return { operator, invited: { token, offer } };
}

export function Component() {
  const { operator, invited } = useLoaderData<typeof loader>() as {
    readonly operator: OperatorIdentity;
    readonly invited: Invited | undefined;
  };
  const [email, setEmail] = useState<string>();
  if (email === undefined) return <RegisterForm operator={operator} invited={invited} onDone={setEmail} />;
  return (
    <AuthOutcome
      illustration={<RegisteredIllustration />}
      title={text.register.doneTitle}
      text={
        <>
          {text.register.done}
          {invited && <span className="mt-3 block wrap-anywhere">{nextStep(invited.offer, email)}</span>}
        </>
      }
    />
  );
}

function nextStep({ approves, email, invitedBy, projectName }: OpenOffer, registered: string): string {
  if (registered !== email)
    return `The invitation is for ${email}. To join with ${registered}, ask ${invitedBy} to invite that address.`;
  if (approves)
    return `The invitation from ${invitedBy} approves you at once: open the login link in that email in this browser, then join.`;
  return `That email also has the link to join ‘${projectName}’.`;
}

function Lead({ invited }: { readonly invited: Invited | undefined }) {
  if (!invited)
    return 'Underpass is in a closed preview. Register with the email address of your subscription. We email you once you are approved.';
  const { invitedBy, projectName, approves } = invited.offer;
  return (
    <>
      <Breakable text={invitedBy} /> invited you to join <strong className="wrap-anywhere text-ink">{projectName}</strong>.{' '}
      {approves
        ? 'Create an account with the invited email address: we email you a login link at once.'
        : 'An operator must approve your account first; you will get a mail.'}
    </>
  );
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

interface RegisterFormProps {
  readonly operator: OperatorIdentity;
  readonly invited: Invited | undefined;
  readonly onDone: (email: string) => void;
}

function RegisterForm({ operator, invited, onDone }: RegisterFormProps) {
  const form = useForm({
    initial: { ...empty, email: invited?.offer.email ?? '' },
    parse: parseRegistration,
    isChanged: (values) => hasChanged({ ...values, [botCheckField]: '' }, empty),
    send: async (registration: Registration) => {
      try {
        await callApi(sessionCalls.register, {
          payload: { ...registrationPayload(registration), ...(invited && { invitation: invited.token }) },
        });
      } catch (error) {
        console.error('Registration failed', isApiError(error) ? error.status : undefined, messageOf(error));
        throw error;
      }
      onDone(registration.email);
    },
  });
  return (
    <AuthCard
      title="Register"
      text={<Lead invited={invited} />}
      foot={
        <>
          Already registered? <Link to={invited ? paths.invitation(invited.token) : paths.login()}>Sign in</Link>
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
