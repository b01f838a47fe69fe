// Reports a tunnel to the operator; anybody may.
import { type AbuseReportField, type NewAbuseReport, parseAbuseReport } from '@underpass/rules/abuse-report.ts';
import { botCheckField } from '@underpass/rules/bot-check.ts';
import { useState } from 'react';
import { useSearchParams } from 'react-router';
import { reportAbuse } from '../api/public.ts';
import { BotCheck } from '../bot-check/bot-check.tsx';
import { TextField } from '../form/text-field.tsx';
import { useForm } from '../form/use-form.ts';
import { Banner } from '../ui/banner.tsx';
import { Button } from '../ui/button.tsx';
import { Field } from '../ui/field.tsx';
import { MailSentIllustration } from '../ui/illustrations/mail-sent.tsx';
import { Textarea } from '../ui/input.tsx';
import { AuthCard, AuthOutcome } from './auth-card.tsx';

export function Component() {
  const [done, setDone] = useState(false);
  if (!done) return <ReportForm onDone={() => setDone(true)} />;
  return (
    <AuthOutcome
      illustration={<MailSentIllustration />}
      title="Thank you for the report."
      text="We look at every report. If we need to know more, we write to the address that you gave."
    />
  );
}

function ReportForm({ onDone }: { readonly onDone: () => void }) {
  const [search] = useSearchParams();
  const [attempt, setAttempt] = useState(0);
  const form = useForm<AbuseReportField, NewAbuseReport>({
    // The pages that visitors see at the edge link here with the host filled in.
    initial: { host: search.get('host') ?? '', email: '', text: '', [botCheckField]: '' },
    parse: parseAbuseReport,
    send: async (report) => {
      await reportAbuse(report);
      onDone();
    },
    onFailure: () => {
      form.set(botCheckField, '');
      setAttempt(attempt + 1);
    },
  });
  return (
    <AuthCard
      title="Report abuse"
      text="Tell us about phishing, malware or other unlawful content that is served through Underpass."
      wide
    >
      <form ref={form.ref} noValidate onSubmit={form.onSubmit} className="grid gap-5">
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
          hint="Only for questions about this report."
          type="email"
          autoComplete="email"
          inputMode="email"
        />
        <BotCheck key={attempt} form={form} />
        {form.failure && (
          <Banner tone="danger" title="The report could not be sent." onDismiss={form.dismissFailure}>
            {form.failure}
          </Banner>
        )}
        <Button type="submit" variant="primary" busy={form.busy} className="w-full">
          Send report
        </Button>
      </form>
    </AuthCard>
  );
}
