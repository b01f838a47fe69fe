// The commands of the palette, in groups. Pure.
import type { Domain, SecurityGroup, Tunnel } from '@underpass/rules/entity.ts';
import { may } from '@underpass/rules/permission.ts';
import { text } from '@underpass/rules/text.ts';
import { newTunnelParam, paths } from '../routing/paths.ts';
import { namesakeNotes } from '../session/namesakes.ts';
import type { ShellData } from '../session/session.ts';
import type { Theme } from '../ui/theme.ts';
import { navigationSections } from './navigation-entries.ts';

export interface Command {
  /** Unique. */
  readonly value: string;
  /** Shown and searched. */
  readonly label: string;
  readonly detail?: string | undefined;
  readonly to?: string;
  readonly theme?: Theme;
}

export interface CommandGroup {
  readonly value: string;
  readonly items: readonly Command[];
}

export interface ProjectContents {
  readonly tunnels: readonly Tunnel[];
  readonly domains: readonly Domain[];
  readonly groups: readonly SecurityGroup[];
}

const NOTHING: ProjectContents = { tunnels: [], domains: [], groups: [] };

export function commandGroups(shell: ShellData, contents: ProjectContents = NOTHING): readonly CommandGroup[] {
  const groups = [
    { value: 'Pages', items: pages(shell) },
    ...(shell.project ? contentGroups(shell.project.id, contents) : []),
    { value: 'Projects', items: projects(shell) },
    { value: 'Actions', items: actions(shell) },
  ];
  return groups.filter(({ items }) => items.length > 0);
}

const pages = ({ user, project }: ShellData): readonly Command[] =>
  navigationSections(user, project)
    .flatMap(({ entries }) => entries)
    .map(({ label, to }) => ({ value: to, label, to }));

function contentGroups(projectId: string, { tunnels, domains, groups }: ProjectContents): readonly CommandGroup[] {
  const command = (label: string, to: string, detail?: string): Command => ({
    value: to,
    label,
    to,
    ...(detail ? { detail } : {}),
  });
  return [
    {
      value: 'Tunnels',
      items: tunnels.map(({ name, ingressDomains }) => command(name, paths.tunnel(projectId, name), ingressDomains[0]?.name)),
    },
    { value: 'Domains', items: domains.map(({ apexName }) => command(apexName, paths.domain(projectId, apexName))) },
    { value: 'Security groups', items: groups.map(({ name }) => command(name, paths.securityGroup(projectId, name))) },
  ];
}

function projects(shell: ShellData): readonly Command[] {
  const notes = namesakeNotes(shell.projects);
  return shell.projects
    .filter(({ id }) => id !== shell.project?.id)
    .map(({ id, name }) => ({
      value: `project ${id}`,
      label: `Switch to ${name}`,
      detail: notes.get(id),
      to: paths.dashboard(id),
    }));
}

const THEMES: readonly Command[] = [
  { value: 'theme light', label: 'Light theme', theme: 'light' },
  { value: 'theme dark', label: 'Dark theme', theme: 'dark' },
  { value: 'theme system', label: 'System theme', theme: 'system' },
];

function actions({ project }: ShellData): readonly Command[] {
  const add: readonly Command[] =
    project && may(project.role, 'tunnel.create')
      ? [{ value: 'add tunnel', label: text.tunnels.add, to: `${paths.tunnels(project.id)}?${newTunnelParam}` }]
      : [];
  return [...add, { value: 'account', label: 'Account', to: paths.account() }, ...THEMES];
}
