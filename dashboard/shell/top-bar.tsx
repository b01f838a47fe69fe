// The fixed bar of the project shell, with the collapsible navigation on a phone (spec 2, Project shell).
import { ArrowLeft, Menu as MenuIcon, X } from 'lucide-react';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { Link, useLocation } from 'react-router';
import { paths } from '../routing/paths.ts';
import type { ShellData } from '../session/session.ts';
import { IconButton } from '../ui/button.tsx';
import { Logo } from '../ui/logo.tsx';
import { OverlayContainer } from '../ui/overlay/overlay-container.tsx';
import { AccountMenu } from './account-menu.tsx';
import { Navigation, useInService } from './navigation.tsx';
import { NavigationProgress } from './navigation-progress.tsx';
import { PaletteButton } from './palette-button.tsx';
import { ProjectSelector } from './project-selector.tsx';

export function TopBar({ user, projects, project }: ShellData) {
  const [open, setOpen] = useState(false);
  const toggle = useRef<HTMLButtonElement>(null);
  const { pathname } = useLocation();
  const inService = useInService(user);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes whenever the page changes.
  useEffect(() => setOpen(false), [pathname]);
  const closeOnEscape = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !open) return;
    setOpen(false);
    toggle.current?.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the navigation from anywhere in the bar.
    <header onKeyDown={closeOnEscape} className="fixed inset-x-0 top-0 z-30 bg-bar text-ink scheme-dark print:hidden">
      <div className="flex h-14 items-center gap-2 px-3 sm:gap-3 sm:px-5">
        <OverlayContainer>
          <IconButton
            ref={toggle}
            label={open ? 'Close navigation' : 'Open navigation'}
            aria-expanded={open}
            aria-controls="mobile-navigation"
            size="md"
            icon={open ? <X aria-hidden="true" /> : <MenuIcon aria-hidden="true" />}
            onClick={() => setOpen(!open)}
            className="lg:hidden"
          />
          <Link to={paths.home()} aria-label="Underpass home" className="flex rounded-sm max-sm:hidden">
            <Logo />
          </Link>
          <span aria-hidden="true" className="h-5 w-px rotate-12 bg-edge max-sm:hidden" />
          {inService ? <BackToProjects project={project} /> : <ProjectSelector projects={projects} project={project} />}
          <div className="ml-auto flex items-center gap-1">
            <PaletteButton user={user} projects={projects} project={project} />
            <AccountMenu user={user} />
          </div>
        </OverlayContainer>
      </div>
      <NavigationProgress />
      <div
        id="mobile-navigation"
        hidden={!open}
        className="max-h-[calc(100dvh-3.5rem)] overflow-y-auto border-t px-3 py-4 lg:hidden"
      >
        {open && <Navigation user={user} project={project} onNavigate={() => setOpen(false)} />}
      </div>
    </header>
  );
}

const BackToProjects = ({ project }: Pick<ShellData, 'project'>) => (
  <Link
    to={project ? paths.dashboard(project.id) : paths.home()}
    className="flex h-9 min-w-0 items-center gap-2 rounded-md px-2.5 text-sm font-semibold text-ink hover:bg-hover"
  >
    <ArrowLeft aria-hidden="true" className="size-4 shrink-0" />
    <span className="truncate">Back to projects</span>
  </Link>
);
