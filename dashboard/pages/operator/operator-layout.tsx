// The frame of the operator pages: the notice for other users. Control refuses their calls as well.
import { Outlet } from 'react-router';
import { PasskeyNeeded } from '../../passkey/needed.tsx';
import { useShell } from '../../session/session.ts';
import { EmptyState } from '../../ui/empty-state.tsx';
import { NoEntryIllustration } from '../../ui/illustrations/no-entry.tsx';

export function Component() {
  const { user } = useShell();
  if (!user.operator) {
    return (
      <>
        <title>Operators only · Underpass</title>
        <h1 className="sr-only">Operators only</h1>
        <EmptyState
          title="Operators Only"
          text="Only the people who run this service can open these pages."
          illustration={<NoEntryIllustration />}
        />
      </>
    );
  }
  if (user.passkey) return <PasskeyNeeded who="This installation" />;
  return <Outlet />;
}
