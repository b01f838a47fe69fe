// For a person who is signed in and belongs to no project.
import { EmptyState } from '../ui/empty-state.tsx';

export function Component() {
  return (
    <>
      <title>No project · Underpass</title>
      <h1 className="sr-only">No project</h1>
      <EmptyState title="No Project" text="You belong to no project. Ask a member of one to invite you." />
    </>
  );
}
