// Reports a tunnel to the operator. Needs no sign-in.

import { publicCalls } from '@underpass/rules/api/public-calls.ts';
import { type AbuseReportField, type NewAbuseReport, parseAbuseReport } from '@underpass/rules/people/abuse-report.ts';
import { botCheckField } from '@underpass/rules/people/bot-check.ts';
import { useState } from 'react';
import { useSearchParams } from 'react-router';
import { callApi } from '../api/request.ts';
import { hasChanged } from '../form/has-changed.ts';
import { TextField } from '../form/text-field.tsx';
import { type Form, useForm } from '../form/use-form.ts';
import { MailSentIllustration } from '../ui/illustrations/mail-sent.tsx';
import { Field } from '../ui/input/field.tsx';
import { Textarea } from '../ui/input/input.tsx';
import { AuthCard, AuthForm, AuthOutcome } from './auth-card.tsx';

export function Component() {
  const [done, setDone] = useState(false);
  if (!done) return <ReportForm onDone={() => setDone(true)} />;
  return (
    <AuthOutcome
      illustration={<MailSentIllustration />}
      title="Thank you for the report."
      text="We review every report. If we have questions, we will email you."
    />
  );
}

function ReportForm({ onDone }: { readonly onDone: () => void }) {
  const [search] = useSearchParams();
  // The edge's error pages link here with the host.
  const initial = { host: search.get('host') ?? '', email: '', text: '', [botCheckField]: '' };
  const form = useForm({
    initial,
    parse: parseAbuseReport,
    isChanged: (values) => hasChanged({ ...values, [botCheckField]: '' }, initial),
    send: async ({ botCheck, ...report }: NewAbuseReport) => {
      await callApi(publicCalls.reportAbuse, { payload: { ...report, [botCheckField]: botCheck } });
      onDone();
    },
  });
  return (
    <AuthCard
      title="Report abuse"
      text="Report phishing, malware or other illegal content that is served through Underpass."
      wide
    >
      <AuthForm form={form} failureTitle="The report could not be sent." submitLabel="Send report">
        <ReportFields form={form} />
      </AuthForm>
    </AuthCard>
  );
}

function ReportFields({ form }: { readonly form: Form<Readonly<Record<AbuseReportField, string>>> }) {
  return (
    <>
      <TextField
        form={form}
        name="host"
        label="Address"
        hint="Copy it from the address bar."
        autoCapitalize="none"
        spellCheck={false}
        mono
      />
      <Field label="What is wrong with it?" error={form.errors.text}>
        {(control) => (
          <Textarea
            {...control}
            name="text"
            rows={6}
            value={form.values.text}
            onChange={(event) => form.set('text', event.target.value)}
          />
        )}
      </Field>
      <TextField
        form={form}
        name="email"
        label="Your email"
        hint="Used only for questions about this report."
        type="email"
        autoComplete="email"
        inputMode="email"
      />
    </>
  );
}
