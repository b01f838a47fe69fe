// The 'I am human' control of the public forms. It fills its field. A token works once: remount the control (key) after every send.
import { publicCalls } from '@underpass/rules/api/public-calls.ts';
import type { BotCheck as BotCheckKind } from '@underpass/rules/entity/resource.ts';
import { botCheckField } from '@underpass/rules/people/bot-check.ts';
import { Check } from 'lucide-react';
import { useEffect, useId, useRef, useState } from 'react';
import { isAbort } from '../api/error.ts';
import { callApi } from '../api/request.ts';
import { loadCode } from '../code-loading/load-code.ts';
import type { Form } from '../form/use-form.ts';
import { Button } from '../ui/button.tsx';
import { FieldError } from '../ui/input/field.tsx';
import { Ring, Skeleton } from '../ui/spinner.tsx';

interface BotCheckProps {
  readonly form: Pick<Form<Readonly<Record<typeof botCheckField, string>>>, 'set' | 'await' | 'errors'>;
}

const cannotLoad = 'The bot check could not be loaded.';

export function BotCheck({ form }: BotCheckProps) {
  const [kind, setKind] = useState<BotCheckKind | 'failed'>();
  const [attempt, setAttempt] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a remounted control drops the used token.
  useEffect(() => form.set(botCheckField, ''), []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt asks again.
  useEffect(() => {
    const abort = new AbortController();
    setKind(undefined);
    callApi(publicCalls.getBotCheck, {}, { signal: abort.signal }).then(
      setKind,
      (reason) => isAbort(reason) || setKind('failed'),
    );
    return () => abort.abort();
  }, [attempt]);
  if (kind === undefined) return <Skeleton className="h-14 rounded-md" />;
  if (kind === 'failed') return <CheckFailed onRetry={() => setAttempt(attempt + 1)} />;
  if (kind.kind === 'turnstile') return <TurnstileCheck siteKey={kind.siteKey} form={form} />;
  return <ProofOfWorkCheck challengeUrl={kind.challengeUrl} form={form} />;
}

function CheckFailed({ onRetry }: { readonly onRetry: () => void }) {
  return (
    <div className="flex min-h-14 flex-wrap items-center justify-between gap-2 rounded-md border border-danger px-3 py-2">
      <FieldError id={undefined} text={cannotLoad} />
      <Button size="sm" onClick={onRetry}>
        Try Again
      </Button>
    </div>
  );
}

type CheckState = 'idle' | 'solving' | 'verified' | 'failed';

const labels: Record<CheckState, string> = {
  idle: 'I am human',
  solving: 'Checking…',
  verified: 'Verified',
  failed: 'The check failed. Try again.',
};

function ProofOfWorkCheck({ challengeUrl, form }: { readonly challengeUrl: string } & BotCheckProps) {
  const [state, start] = useProofOfWork(challengeUrl, form);
  const errorId = useId();
  const shownError = state === 'idle' || state === 'failed' ? form.errors[botCheckField] : undefined;
  return (
    <div className="grid gap-1.5">
      {/* biome-ignore lint/a11y/useSemanticElements: a native checkbox would tick before the work is done. */}
      <button
        type="button"
        role="checkbox"
        aria-checked={state === 'verified'}
        aria-busy={state === 'solving'}
        aria-invalid={shownError ? true : undefined}
        aria-describedby={shownError ? errorId : undefined}
        onClick={start}
        className="flex h-14 w-full items-center gap-3 rounded-md border border-edge bg-surface px-3.5 text-left text-base hover:border-ink-faint aria-invalid:border-danger"
      >
        <CheckMark state={state} />
        <span aria-live="polite">{labels[state]}</span>
      </button>
      <FieldError id={errorId} text={shownError} />
    </div>
  );
}

function CheckMark({ state }: { readonly state: CheckState }) {
  if (state === 'solving') return <Ring className="size-5" />;
  const ticked = state === 'verified';
  return (
    <span
      aria-hidden="true"
      className={`flex size-5 items-center justify-center rounded-sm border ${ticked ? 'border-accent-ink bg-accent text-on-accent' : 'border-edge'}`}
    >
      {ticked && <Check className="size-4" strokeWidth={3} />}
    </span>
  );
}

function useProofOfWork(challengeUrl: string, form: BotCheckProps['form']): readonly [CheckState, () => void] {
  const [state, setState] = useState<CheckState>('idle');
  const work = useRef<AbortController>(undefined);
  useEffect(() => () => work.current?.abort(), []);
  const start = async () => {
    if (state === 'solving' || state === 'verified') return;
    setState('solving');
    form.await(botCheckField);
    work.current = new AbortController();
    try {
      // Each kind of check loads on use, so that the form shows first.
      const { solveProofOfWork } = await loadCode(() => import('./proof-of-work.ts'));
      // Control decides whether the token has expired: this browser's clock may be wrong.
      form.set(botCheckField, await solveProofOfWork(challengeUrl, work.current.signal));
      setState('verified');
    } catch (reason) {
      if (work.current.signal.aborted) return;
      console.error('Bot check failed', reason);
      setState('failed');
    } finally {
      form.await(undefined);
    }
  };
  return [state, start];
}

function TurnstileCheck({ siteKey, form }: { readonly siteKey: string } & BotCheckProps) {
  const container = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<'working' | 'waiting' | 'failed'>('working');
  // biome-ignore lint/correctness/useExhaustiveDependencies: the widget lives as long as its container.
  useEffect(() => {
    if (!container.current) return;
    const enter = (next: typeof state) => {
      setState(next);
      form.await(next === 'working' ? botCheckField : undefined);
    };
    const give = (token: string, next: typeof state) => {
      form.set(botCheckField, token);
      enter(next);
    };
    const handlers = {
      onToken: (token: string) => give(token, 'waiting'),
      // The widget gets a new token by itself.
      onExpired: () => give('', 'working'),
      onInteractive: () => enter('waiting'),
      onError: () => enter('failed'),
    };
    const place = container.current;
    enter('working');
    const rendered = loadCode(() => import('./turnstile.ts')).then(({ renderTurnstile }) =>
      renderTurnstile(place, siteKey, handlers),
    );
    rendered.catch(handlers.onError);
    return () => {
      form.await(undefined);
      rendered.then((widget) => widget.remove()).catch(() => undefined);
    };
  }, [siteKey]);
  const missing = state === 'working' ? undefined : form.errors[botCheckField];
  return (
    <div className="grid gap-1.5">
      <div ref={container} className="min-h-16" />
      <FieldError id={undefined} text={state === 'failed' ? cannotLoad : missing} />
    </div>
  );
}
