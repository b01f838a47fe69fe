// The entries of the side navigation (spec 2), and what the product has beyond them.
import type { Project, User } from '@underpass/rules/entity.ts';
import clsx from 'clsx';
import {
  Gauge,
  Globe,
  KeyRound,
  type LucideIcon,
  MonitorDown,
  ScrollText,
  Settings,
  ShieldCheck,
  TrainFrontTunnel,
  Users,
  Wrench,
} from 'lucide-react';
import { NavLink } from 'react-router';
import { paths } from '../paths.ts';

interface Entry {
  readonly label: string;
  readonly to: string;
  readonly icon: LucideIcon;
}

interface Section {
  readonly title?: string;
  readonly entries: readonly Entry[];
}

function sectionsOf(user: User, project: Project | undefined): readonly Section[] {
  return [
    { entries: [...(project ? specEntries(project.id) : []), { label: 'CLI', to: paths.download(), icon: MonitorDown }] },
    ...(project ? [{ title: 'Project', entries: projectEntries(project.id) }] : []),
    ...(user.operator
      ? [{ title: 'Operator', entries: [{ label: 'Operator pages', to: paths.operator('registrations'), icon: Wrench }] }]
      : []),
  ];
}

const specEntries = (projectId: string): readonly Entry[] => [
  { label: 'Dashboard', to: paths.dashboard(projectId), icon: Gauge },
  { label: 'Tunnels', to: paths.tunnels(projectId), icon: TrainFrontTunnel },
  { label: 'Domains', to: paths.domains(projectId), icon: Globe },
  { label: 'Security Groups', to: paths.securityGroups(projectId), icon: ShieldCheck },
];

const projectEntries = (projectId: string): readonly Entry[] => [
  { label: 'Members', to: paths.members(projectId), icon: Users },
  { label: 'API tokens', to: paths.tokens(projectId), icon: KeyRound },
  { label: 'Audit log', to: paths.audit(projectId), icon: ScrollText },
  { label: 'Settings', to: paths.settings(projectId), icon: Settings },
];

export function Navigation({ user, project, onNavigate }: NavigationProps) {
  return (
    <nav aria-label="Main" className="grid gap-5">
      {sectionsOf(user, project).map((section) => (
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

function NavigationLink({ entry, onNavigate }: { readonly entry: Entry; readonly onNavigate: (() => void) | undefined }) {
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
