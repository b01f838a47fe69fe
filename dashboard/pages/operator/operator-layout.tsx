// The frame of the operator pages: their tabs, and the notice for other users. Control refuses their calls as well.
import { useEffect, useRef } from 'react';
import { NavLink, Outlet, useLocation } from 'react-router';
import { PasskeyNeeded } from '../../passkey/needed.tsx';
import { type OperatorPage, paths } from '../../routing/paths.ts';
import { useShell } from '../../session/session.ts';
import { EmptyState } from '../../ui/empty-state.tsx';
import { NoEntryIllustration } from '../../ui/illustrations/no-entry.tsx';

const operatorPages: readonly { readonly page: OperatorPage; readonly label: string }[] = [
  { page: 'registrations', label: 'Registrations' },
  { page: 'subscriptions', label: 'Subscriptions' },
  { page: 'users', label: 'Users' },
  { page: 'projects', label: 'Projects' },
  { page: 'tunnels', label: 'Tunnels' },
  { page: 'regions', label: 'Regions' },
  { page: 'edges', label: 'Edges' },
  { page: 'blocks', label: 'Blocks' },
  { page: 'abuse-reports', label: 'Abuse reports' },
  { page: 'audit', label: 'Audit log' },
];

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
  return (
    <>
      <Tabs />
      <Outlet />
    </>
  );
}

function Tabs() {
  const nav = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: on a phone, every change of the page scrolls its tab into view.
  useEffect(() => {
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [pathname]);
  return (
    <nav ref={nav} aria-label="Operator" className="-mx-4 mb-6 overflow-x-auto border-b px-4 sm:mx-0 sm:px-0">
      <ul className="flex gap-1">
        {operatorPages.map(({ page, label }) => (
          <li key={page}>
            <NavLink
              to={paths.operator(page)}
              className="-mb-px flex h-10 items-center border-b-2 border-transparent px-2 text-sm font-semibold whitespace-nowrap text-ink-soft hover:text-ink focus-visible:-outline-offset-2 lg:px-3 lg:text-base aria-[current=page]:border-accent-ink aria-[current=page]:text-ink"
            >
              {label}
            </NavLink>
          </li>
        ))}
      </ul>
    </nav>
  );
}
