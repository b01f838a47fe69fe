// The side navigation (spec 2, Project shell).
import type { Project, User } from '@underpass/rules/entity/entity.ts';
import clsx from 'clsx';
import { NavLink } from 'react-router';
import { type NavigationEntry, navigationSections } from './navigation-entries.ts';

export function Navigation({ user, project, onNavigate }: NavigationProps) {
  return (
    <nav aria-label="Main" className="grid gap-5">
      {navigationSections(user, project).map((section) => (
        <div key={section.title ?? 'main'} className="grid gap-1">
          {section.title && <h2 className="px-3 pb-1 text-sm font-semibold text-ink-faint">{section.title}</h2>}
          <ul className="grid gap-0.5">
            {section.entries.map((entry) => (
              <li key={entry.to}>
                <NavigationLink entry={entry} onNavigate={onNavigate} />
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

interface NavigationProps {
  readonly user: User;
  readonly project: Project | undefined;
  readonly onNavigate?: (() => void) | undefined;
}

function NavigationLink({
  entry,
  onNavigate,
}: {
  readonly entry: NavigationEntry;
  readonly onNavigate: (() => void) | undefined;
}) {
  const Icon = entry.icon;
  return (
    <NavLink
      to={entry.to}
      {...(onNavigate === undefined ? {} : { onClick: onNavigate })}
      className={({ isActive }) =>
        clsx(
          'relative flex h-9 items-center gap-3 rounded-md px-3 text-base',
          isActive
            ? 'bg-surface font-semibold text-ink shadow-sm before:absolute before:inset-y-2 before:left-0 before:w-1 before:rounded-full before:bg-accent'
            : 'text-ink-soft hover:bg-hover hover:text-ink',
        )
      }
    >
      <Icon aria-hidden="true" className="size-4.5 shrink-0" />
      {entry.label}
    </NavLink>
  );
}
