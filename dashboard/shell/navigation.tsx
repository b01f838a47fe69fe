// The side navigation (spec 2, Project shell). The operator pages have their own, outside any project.
import type { Project, User } from '@underpass/rules/entity/entity.ts';
import clsx from 'clsx';
import { NavLink, useMatch } from 'react-router';
import { operatorPattern } from '../routing/paths.ts';
import { type NavigationEntry, navigationSections, operatorEntries } from './navigation-entries.ts';

export function Navigation({ user, project, onNavigate }: NavigationProps) {
  const inService = useInService(user);
  const sections = inService ? [{ title: 'Service', entries: operatorEntries }] : navigationSections(user, project);
  return (
    <nav aria-label={inService ? 'Operator' : 'Main'} className="grid gap-5">
      {sections.map((section) => (
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

/** Whether an operator page is shown, to an operator. */
export const useInService = ({ operator }: User): boolean => useMatch(operatorPattern) !== null && operator === true;

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
      end={entry.isExact === true}
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
