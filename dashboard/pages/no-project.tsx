// The page of a signed-in user without a project.
import { paths } from '../routing/paths.ts';
import { useShell } from '../session/session.ts';
import { ButtonLink } from '../ui/button-link.tsx';
import { EmptyState } from '../ui/empty-state.tsx';

/** An account that an invitation approved makes no projects (rules/people/account.ts). */
export function Component() {
  const { invited } = useShell().user;
  return (
    <>
      <title>No project · Underpass</title>
      <h1 className="sr-only">No project</h1>
      <EmptyState
        title="No Project"
        text={
          invited
            ? "You're not in a project. Open the invitation in your mail again, or ask a project owner to invite you."
            : "You're not in a project yet. Create one, or ask a project owner to invite you."
        }
        action={invited ? null : <ButtonLink to={paths.newProject()}>New project</ButtonLink>}
      />
    </>
  );
}
