// What went wrong, and whether the sender of a webhook is who it says.
import type { ExchangeError, SignatureCheck, SignatureScheme } from '@underpass/rules/inspect/exchange.ts';
import { projectUrl } from '@underpass/rules/text/project-url.ts';
import { Banner } from '../../ui/banner.tsx';

export function ErrorNote({ error }: { readonly error: ExchangeError }) {
  return (
    <Banner tone="danger" title={error.title}>
      <p>{error.detail}</p>
      <p>{error.fix}</p>
      <p className="mt-1 text-sm text-ink-soft">
        <a
          href={`${projectUrl}/blob/main/docs/errors.md#${error.code}`}
          target="_blank"
          rel="noreferrer"
          className="font-mono underline underline-offset-4"
        >
          {error.code}
        </a>
      </p>
    </Banner>
  );
}

const schemes: Readonly<Record<SignatureScheme, string>> = {
  github: 'GitHub',
  stripe: 'Stripe',
  slack: 'Slack',
  'standard-webhooks': 'Standard Webhooks',
};

const outcomes = {
  valid: { tone: 'ok', words: 'signature is valid' },
  invalid: { tone: 'danger', words: 'signature is not valid' },
  late: { tone: 'warn', words: 'signature is too old' },
  unchecked: { tone: 'info', words: 'signature was not checked' },
} as const;

export function SignatureNote({ check }: { readonly check: SignatureCheck }) {
  const { tone, words } = outcomes[check.outcome];
  return (
    <Banner tone={tone} title={`${schemes[check.scheme]}: the ${words}.`}>
      {check.explanation}
    </Banner>
  );
}
