// A change as a sentence: who did what.
import type { RecentChange } from '@underpass/rules/entity/resource.ts';
import { describeAudit, nameActor } from '@underpass/rules/people/audit-sentence.ts';
import { useShell } from '../../session/session.ts';
import { Breakable } from '../../ui/breakable.tsx';

export function Sentence({ change }: { readonly change: RecentChange }) {
  const { user } = useShell();
  const { actor, actorName } = change;
  return (
    <>
      <span className="font-semibold" title={actor}>
        {actor === user.email ? 'You' : (actorName ?? nameActor(actor))}
      </span>{' '}
      <Breakable text={describeAudit(change)} />
    </>
  );
}
