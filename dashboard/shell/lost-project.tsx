// A project that was on the page, and that the person is no longer in or somebody deleted.
import type { Project } from '@underpass/rules/entity/entity.ts';
import type { MembershipNews } from '@underpass/rules/entity/resource.ts';
import { useCallback, useState } from 'react';
import { paths } from '../routing/paths.ts';
import { ButtonLink } from '../ui/button-link.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { useHandOverFocus } from '../ui/hand-over-focus.ts';
import { NoEntryIllustration } from '../ui/illustrations/no-entry.tsx';
import { PageHeader } from '../ui/page-header.tsx';

interface Lost {
  readonly id: string;
  readonly name: string;
  readonly isDeleted: boolean;
}

/** Remembers the project that the page shows, to name it once it is gone, and catches up when the person's role in it changes. */
export function useLostProject(shown: Project | undefined, onCaughtUp: () => void) {
  const [last, setLast] = useState(shown);
  if (shown && shown !== last) setLast(shown);
  const [deleted, setDeleted] = useState<string>();
  const id = last?.id;
  const onMembership = useCallback(
    (news: MembershipNews) => {
      if (news === 'deleted') setDeleted(id);
      onCaughtUp();
    },
    [id, onCaughtUp],
  );
  const lost: Lost | undefined = last && { id: last.id, name: last.name, isDeleted: deleted === last.id };
  return { lost, onMembership };
}

interface LostProjectProps {
  readonly lost: Lost;
  readonly projects: readonly Project[];
}

/** The project selector has them all. */
const mostLinks = 5;

export function LostProject({ lost: { name, isDeleted }, projects }: LostProjectProps) {
  useHandOverFocus();
  return (
    <>
      <PageHeader title={name} />
      <EmptyState
        title={isDeleted ? `‘${name}’ was deleted.` : `You are no longer a member of ‘${name}’.`}
        text={isDeleted ? 'Somebody deleted it while this page was open.' : 'Ask an owner of the project if you need it.'}
        action={
          <div className="flex flex-wrap justify-center gap-2">
            {projects.length === 0 && <ButtonLink to={paths.noProject()}>Continue</ButtonLink>}
            {projects.slice(0, mostLinks).map((other) => (
              <ButtonLink key={other.id} to={paths.dashboard(other.id)}>
                Go to {other.name}
              </ButtonLink>
            ))}
          </div>
        }
        illustration={<NoEntryIllustration />}
      />
    </>
  );
}
