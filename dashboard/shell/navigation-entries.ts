// The pages in the side navigation and the command palette (spec 2, and pages beyond it).
import type { Project, User } from '@underpass/rules/entity/entity.ts';
import { may } from '@underpass/rules/people/permission.ts';
import {
  BadgeCheck,
  Ban,
  Bell,
  ChartColumn,
  DoorOpen,
  Flag,
  FolderKanban,
  Gauge,
  Globe,
  KeyRound,
  type LucideIcon,
  MapPinned,
  MonitorDown,
  ScrollText,
  Server,
  Settings,
  ShieldCheck,
  TrainFrontTunnel,
  UserPlus,
  Users,
  Wrench,
} from 'lucide-react';
import { paths } from '../routing/paths.ts';

export interface NavigationEntry {
  readonly label: string;
  readonly to: string;
  readonly icon: LucideIcon;
  /** Marked on its own page alone, not on those below it. */
  readonly isExact?: boolean;
}

interface NavigationSection {
  readonly title?: string;
  readonly entries: readonly NavigationEntry[];
}

export function navigationSections(user: User, project: Project | undefined): readonly NavigationSection[] {
  return [
    { entries: [...(project ? specEntries(project.id) : []), { label: 'CLI', to: paths.download(), icon: MonitorDown }] },
    ...(project ? [{ title: 'Project', entries: projectEntries(project) }] : []),
    ...(user.operator
      ? [{ title: 'Operator', entries: [{ label: 'Operator pages', to: paths.operatorHome(), icon: Wrench }] }]
      : []),
  ];
}

/** The entries of the specification, with the access policies beside the security groups. */
const specEntries = (projectId: string): readonly NavigationEntry[] => [
  { label: 'Dashboard', to: paths.dashboard(projectId), icon: Gauge },
  { label: 'Tunnels', to: paths.tunnels(projectId), icon: TrainFrontTunnel },
  { label: 'Domains', to: paths.domains(projectId), icon: Globe },
  { label: 'Security Groups', to: paths.securityGroups(projectId), icon: ShieldCheck },
  { label: 'Access', to: paths.accessPolicies(projectId), icon: DoorOpen },
];

const projectEntries = ({ id: projectId, role }: Project): readonly NavigationEntry[] => [
  { label: 'Alerts', to: paths.alerts(projectId), icon: Bell },
  { label: 'Members', to: paths.members(projectId), icon: Users },
  ...(may(role, 'api-token.read') ? [{ label: 'API tokens', to: paths.tokens(projectId), icon: KeyRound }] : []),
  ...(may(role, 'audit.read') ? [{ label: 'Audit log', to: paths.audit(projectId), icon: ScrollText }] : []),
  { label: 'Usage', to: paths.usage(projectId), icon: ChartColumn },
  { label: 'Settings', to: paths.settings(projectId), icon: Settings },
];

/** The operator pages' own navigation: the service as a whole first, then who uses it, then what waits. */
export const operatorEntries: readonly NavigationEntry[] = [
  { label: 'Overview', to: paths.operatorHome(), icon: Gauge, isExact: true },
  { label: 'Regions', to: paths.operator('regions'), icon: MapPinned },
  { label: 'Edges', to: paths.operator('edges'), icon: Server },
  { label: 'Projects', to: paths.operator('projects'), icon: FolderKanban },
  { label: 'Tunnels', to: paths.operator('tunnels'), icon: TrainFrontTunnel },
  { label: 'Users', to: paths.operator('users'), icon: Users },
  { label: 'Registrations', to: paths.operator('registrations'), icon: UserPlus },
  { label: 'Subscriptions', to: paths.operator('subscriptions'), icon: BadgeCheck },
  { label: 'Abuse reports', to: paths.operator('abuse-reports'), icon: Flag },
  { label: 'Blocks', to: paths.operator('blocks'), icon: Ban },
  { label: 'Audit log', to: paths.operator('audit'), icon: ScrollText },
];
