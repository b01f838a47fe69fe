// "Test this policy": shows what would happen to a visit, and why, as control answers it.

import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import { accountCalls } from '@underpass/rules/api/account-calls.ts';
import type { PayloadOf } from '@underpass/rules/api/call.ts';
import { accept, collectErrors, type Parsed, type ParsedForm, refuse } from '@underpass/rules/parsed.ts';
import { parseEmail } from '@underpass/rules/people/email.ts';
import { text } from '@underpass/rules/text/text.ts';
import type { AccessPolicy, AccessTest } from '@underpass/rules/visit/access-policy.ts';
import { methodLabels, outcomeLabels } from '@underpass/rules/visit/words.ts';
import { useEffect, useState } from 'react';
import { messageOf } from '../../api/error.ts';
import { callApi } from '../../api/request.ts';
import { useTask } from '../../api/use-task.ts';
import { FormFailure } from '../../form/form-failure.tsx';
import { TextField } from '../../form/text-field.tsx';
import { type Form, useForm } from '../../form/use-form.ts';
import { useProject } from '../../session/session.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { SelectField } from '../../ui/input/select-field.tsx';
import { toast } from '../../ui/overlay/toast.tsx';
import { useFirstAddress } from './first-address.ts';
import { actionLabels } from './words.ts';

type Visitor = 'nobody' | 'person' | 'token';

interface TestValues {
  readonly url: string;
  readonly visitor: Visitor;
  readonly email: string;
  readonly token: string;
  readonly address: string;
}

type TestRequest = PayloadOf<typeof accessCalls.testAccessPolicy>;

function parseTest({ visitor, ...values }: TestValues): ParsedForm<TestRequest, 'url' | 'email' | 'token'> {
  const url = parseUrl(values.url);
  const email = visitor === 'person' ? parseEmail(values.email) : accept(undefined);
  const token = visitor === 'token' ? parseToken(values.token) : accept(undefined);
  if (!url.ok || !email.ok || !token.ok) return { ok: false, errors: collectErrors({ url, email, token }) };
  return accept({ url: url.value, email: email.value, token: token.value, address: values.address.trim() || undefined });
}

const parseUrl = (typed: string): Parsed<string> =>
  URL.canParse(typed.trim()) ? accept(typed.trim()) : refuse('Type a URL, such as https://app.example.com/docs.');

const parseToken = (typed: string): Parsed<string> => (typed.trim() === '' ? refuse('Required.') : accept(typed.trim()));

export function PolicyTest({ policy }: { readonly policy: AccessPolicy }) {
  if (policy.tunnels.length === 0) {
    return (
      <Card title="Test this policy">
        <p className="text-ink-soft">A test needs an address. Edit an http tunnel and select this policy first.</p>
      </Card>
    );
  }
  return <TestForm policy={policy} />;
}

function TestForm({ policy: { name, tunnels } }: { readonly policy: AccessPolicy }) {
  const project = useProject();
  const [answer, setAnswer] = useState<AccessTest>();
  const form = useForm<TestValues, TestRequest>({
    initial: { url: '', visitor: 'nobody', email: '', token: '', address: '' },
    parse: parseTest,
    asks: false,
    send: async (payload) => {
      setAnswer(undefined);
      setAnswer(await callApi(accessCalls.testAccessPolicy, { project: project.id, name, payload }));
    },
  });
  useFirstUrl(form, tunnels);
  return (
    <Card title="Test this policy" description="Shows what would happen to a visit, and why. It signs nobody in.">
      <form ref={form.ref} noValidate onSubmit={form.onSubmit} className="grid gap-5">
        <FormFailure form={form} title="The policy was not tested." />
        <TestFields form={form} />
        <Button type="submit" variant="primary" busy={form.busy} className="justify-self-start">
          Test
        </Button>
      </form>
      <div role="status">{answer && <Outcome answer={answer} />}</div>
    </Card>
  );
}

/** Starts with the address of the first tunnel, unless something has been typed. */
function useFirstUrl(form: Form<TestValues>, tunnels: readonly string[]): void {
  const address = useFirstAddress(tunnels);
  const { change } = form;
  useEffect(() => {
    if (address !== undefined) change((values) => (values.url === '' ? { ...values, url: `${address}/` } : values));
  }, [address, change]);
}

const visitors = [
  { value: 'nobody', label: 'Someone who has not signed in' },
  { value: 'person', label: 'A person' },
  { value: 'token', label: 'A program with a machine token' },
] as const;

function TestFields({ form }: { readonly form: Form<TestValues> }) {
  const { values, set } = form;
  return (
    <>
      <TextField form={form} name="url" label="URL" type="url" mono autoComplete="off" />
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField label="Visitor" value={values.visitor} options={visitors} onChange={(visitor) => set('visitor', visitor)} />
        {values.visitor === 'person' && (
          <TextField form={form} name="email" label="Email" type="email" placeholder="ada@example.com" autoComplete="off" />
        )}
        {values.visitor === 'token' && (
          <TextField form={form} name="token" label="Machine token" type="password" mono autoComplete="off" />
        )}
      </div>
      <div className="grid gap-2">
        <TextField
          form={form}
          name="address"
          label="Source address"
          optional
          hint="Where the visitor comes from, for the security group. If empty, the address that you use now."
          placeholder="203.0.113.7"
          mono
          autoComplete="off"
        />
        <OwnAddress onFound={(address) => set('address', address)} />
      </div>
    </>
  );
}

function OwnAddress({ onFound }: { readonly onFound: (address: string) => void }) {
  const asking = useTask(async () => {
    try {
      onFound((await callApi(accountCalls.getOwnAddress, {})).address);
    } catch (error) {
      toast.failed('Your address could not be found.', messageOf(error) ?? text.error.fallback);
    }
  });
  return (
    <Button size="sm" busy={asking.busy} onClick={() => asking.run()} className="justify-self-start">
      Use my address
    </Button>
  );
}

const tones: Readonly<Record<AccessTest['outcome'], Tone>> = { allow: 'ok', 'sign-in': 'info', refuse: 'danger' };

function Outcome({ answer: { outcome, securityGroup, rule, why, method } }: { readonly answer: AccessTest }) {
  return (
    <section aria-label="Outcome" className="mt-5 grid gap-4 border-t pt-5">
      <Badge tone={tones[outcome]} dot="filled" className="justify-self-start">
        {outcomeLabels[outcome]}
      </Badge>
      <ol className="grid list-decimal gap-1 pl-5 wrap-anywhere">
        {why.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ol>
      <dl className="grid gap-x-6 text-sm max-sm:[&_dd]:mb-2 sm:grid-cols-[auto_1fr] sm:gap-y-2 [&_dt]:text-ink-soft">
        <dt>Security group</dt>
        <dd>
          {securityGroup.name}: {securityGroup.allowed ? `allowed by ${securityGroup.rule}` : 'no rule allows the address'}
        </dd>
        <dt>Path rule</dt>
        <dd>{rule ? <RuleText {...rule} /> : 'No rule matches: sign-in needed'}</dd>
        {method && (
          <>
            <dt>Signed in by</dt>
            <dd>{methodLabels[method]}</dd>
          </>
        )}
      </dl>
    </section>
  );
}

const RuleText = ({ path, action }: NonNullable<AccessTest['rule']>) => (
  <>
    <code className="wrap-anywhere">{path}</code>: {actionLabels[action]}
  </>
);
