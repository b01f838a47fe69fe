// "Confirm it's you": opens when control refuses a call because the last proof of who uses the session is too old. The page behind it
// keeps what was typed, and the call is repeated once the person has confirmed.
import type { User } from '@underpass/rules/entity/entity.ts';
import { useEffect, useRef, useState } from 'react';
import { onProofNeeded, type ProofKind } from '../api/request.ts';
import { lazyOverlay } from '../ui/lazy-part.tsx';
import { useLast } from '../ui/use-last.ts';
import type { ProofQuestionProps } from './proof-question.tsx';

const ProofQuestion = lazyOverlay<ProofQuestionProps>('The question', () =>
  import('./proof-question.tsx').then(({ ProofQuestion }) => ProofQuestion),
);

export function ProofDialog({ user }: { readonly user: User }) {
  const { kind, end } = useQuestion();
  // While the dialog fades out, nothing is asked any more.
  const shown = useLast(kind) ?? 'any';
  return <ProofQuestion user={user} open={kind !== undefined} kind={shown} end={end} />;
}

/** Calls that are refused while the dialog is open wait for the same answer. */
function useQuestion(): { readonly kind: ProofKind | undefined; readonly end: (proven: boolean) => void } {
  const [kind, setKind] = useState<ProofKind>();
  const waiting = useRef<PromiseWithResolvers<boolean>>(undefined);
  const [end] = useState(() => (proven: boolean) => {
    setKind(undefined);
    waiting.current?.resolve(proven);
    waiting.current = undefined;
  });
  useEffect(() => {
    const stop = onProofNeeded((needed) => {
      waiting.current ??= Promise.withResolvers();
      setKind(needed);
      return waiting.current.promise;
    });
    return () => {
      stop();
      end(false);
    };
  }, [end]);
  return { kind, end };
}
