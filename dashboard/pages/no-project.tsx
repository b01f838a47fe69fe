// The page of a signed-in user without a project.
import { paths } from '../routing/paths.ts';
import { ButtonLink } from '../ui/button-link.tsx';
import { EmptyState } from '../ui/empty-state.tsx';

export function Component() {
  return (
    <>
      <title>No project · Underpass</title>
      <h1 className="sr-only">No project</h1>
      <EmptyState
        title="No Project"
        text="You're not in a project yet. Create one, or ask a project owner to invite you."
        action={<ButtonLink to={paths.newProject()}>New project</ButtonLink>}
      />
    </>
  );
}
