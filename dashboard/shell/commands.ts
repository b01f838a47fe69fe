// The commands of the palette, in groups. Pure.

import type { Domain, Project, SecurityGroup, Tunnel } from '@underpass/rules/entity/entity.ts';
import { findShown, searchWords } from '@underpass/rules/list/list-page.ts';
import { type Action, may } from '@underpass/rules/people/permission.ts';
import { text } from '@underpass/rules/text/text.ts';
import type { AccessPolicy } from '@underpass/rules/visit/access-policy.ts';
import { inviteParam, newDomainParam, newTokenParam, newTunnelParam, paths } from '../routing/paths.ts';
import { namesakeNotes } from '../session/namesakes.ts';
import type { ShellData } from '../session/session.ts';
import type { Theme } from '../ui/theme.ts';
import { navigationSections, operatorEntries } from './navigation-entries.ts';

export interface Command {
  /** Unique. */
  readonly value: string;
  /** Shown and searched. */
  readonly label: string;
  readonly detail?: string | undefined;
  /** Searched like the label. */
  readonly alsoFound?: readonly string[];
  /** What Enter does: one of these. */
  readonly to?: string;
  readonly theme?: Theme;
  readonly copies?: string;
  /** An address outside the dashboard. */
  readonly opens?: string;
  readonly logsOut?: true;
}

export interface CommandGroup {
  readonly value: string;
  readonly items: readonly Command[];
}

export interface ProjectContents {
  readonly tunnels: readonly Tunnel[];
  readonly domains: readonly Domain[];
  readonly groups: readonly SecurityGroup[];
  readonly policies: readonly AccessPolicy[];
  /** What the query without its verb finds. Absent: what `tunnels` has. */
  readonly named?: readonly Tunnel[] | undefined;
}

export const nothingFound: ProjectContents = { tunnels: [], domains: [], groups: [], policies: [] };

/** `copy shop` and `open shop` mean the address of the tunnel `shop`: the server searches for the rest. */
export function withoutVerb(query: string): string | undefined {
  const [verb, ...rest] = searchWords(query);
  return verb === 'copy' || verb === 'open' ? rest.join(' ') : undefined;
}

/**
 * What a query finds. `contents`: what the server found, maybe for the query before: Enter must not open something that no longer
 * matches.
 */
export function commandGroups(shell: ShellData, query = '', contents: ProjectContents = nothingFound): readonly CommandGroup[] {
  const words = searchWords(query);
  const isAsked = words.length > 0;
  const own = shell.project ? projectActions(shell.project) : [];
  const groups = [
    // Nothing is typed yet: what the navigation does not show comes first.
    { value: 'Project actions', items: isAsked ? [] : own },
    { value: 'Pages', items: pages(shell) },
    ...(shell.project ? contentGroups(shell.project.id, contents, words) : []),
    { value: 'Service', items: shell.user.operator ? servicePages : [] },
    { value: 'Projects', items: projects(shell) },
    { value: 'Actions', items: [...(isAsked ? own : []), ...actions(shell)] },
    { value: 'Addresses', items: shell.project && isAsked ? addresses(contents, words) : [] },
  ];
  return groups
    .map(({ value, items }) => ({ value, items: items.filter((item) => isFound(item, words)) }))
    .filter(({ items }) => items.length > 0);
}

function isFound({ label, alsoFound = [] }: Command, words: readonly string[]): boolean {
  const text = [label, ...alsoFound].join(' ').toLowerCase();
  return words.every((word) => text.includes(word));
}

const pages = ({ user, project }: ShellData): readonly Command[] =>
  navigationSections(user, project)
    .flatMap(({ entries }) => entries)
    .map(({ label, to }) => ({ value: to, label, to }));

const servicePages: readonly Command[] = operatorEntries
  .filter(({ to }) => to !== paths.operatorHome())
  .map(({ label, to }) => ({ value: to, label: `Service: ${label}`, to, alsoFound: ['operator'] }));

function contentGroups(
  projectId: string,
  { tunnels, domains, groups, policies }: ProjectContents,
  words: readonly string[],
): readonly CommandGroup[] {
  const command = (label: string, to: string): Command => ({ value: to, label, to });
  return [
    { value: 'Tunnels', items: tunnels.map((tunnel) => tunnelCommand(projectId, tunnel, words)) },
    { value: 'Domains', items: domains.map(({ apexName }) => command(apexName, paths.domain(projectId, apexName))) },
    { value: 'Security groups', items: groups.map(({ name }) => command(name, paths.securityGroup(projectId, name))) },
    { value: 'Access policies', items: policies.map(({ name }) => command(name, paths.accessPolicy(projectId, name))) },
  ];
}

/** Shows the ingress domain that was found, else the first. */
function tunnelCommand(projectId: string, { name, ingressDomains }: Tunnel, words: readonly string[]): Command {
  const to = paths.tunnel(projectId, name);
  const hosts = ingressDomains.map((domain) => domain.name);
  return { value: to, label: name, to, detail: findShown(hosts, words), alsoFound: hosts };
}

/** Copies or opens the address that was found, else the first. A blocked name serves nobody. */
function addresses({ tunnels, named = tunnels }: ProjectContents, words: readonly string[]): readonly Command[] {
  return named.flatMap(({ name, ingressDomains }) => {
    const served = ingressDomains.filter(({ blocked }) => !blocked);
    const shown = findShown(
      served.map((domain) => domain.name),
      words,
    );
    const url = served.find((domain) => domain.name === shown)?.url;
    if (url === undefined) return [];
    const found = { detail: new URL(url).host, alsoFound: served.map((domain) => domain.name) };
    return [
      { value: `copy ${name}`, label: `Copy address of ${name}`, ...found, copies: url },
      { value: `open ${name}`, label: `Open address of ${name}`, ...found, opens: url },
    ];
  });
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

const themes: readonly Command[] = [
  { value: 'theme light', label: 'Light theme', theme: 'light' },
  { value: 'theme dark', label: 'Dark theme', theme: 'dark' },
  { value: 'theme system', label: 'System theme', theme: 'system' },
];

function actions({ user }: ShellData): readonly Command[] {
  return [
    ...(user.invited ? [] : [{ value: 'new project', label: 'New project', to: paths.newProject() }]),
    { value: 'account', label: 'Account', to: paths.account() },
    ...themes,
    { value: 'log out', label: 'Log out', alsoFound: ['sign out'], logsOut: true },
  ];
}

interface ProjectAction extends Command {
  readonly needs: Action;
}

function projectActions({ id, role }: Project): readonly Command[] {
  const all: readonly ProjectAction[] = [
    {
      value: 'add tunnel',
      label: text.tunnels.add,
      alsoFound: ['new tunnel'],
      to: `${paths.tunnels(id)}?${newTunnelParam}`,
      needs: 'tunnel.create',
    },
    {
      value: 'add domain',
      label: 'Add Domain',
      alsoFound: ['new domain'],
      to: `${paths.domains(id)}?${newDomainParam}`,
      needs: 'domain.create',
    },
    {
      value: 'invite',
      label: 'Invite a member',
      to: `${paths.members(id)}?${inviteParam}`,
      needs: 'invitation.create',
    },
    {
      value: 'new token',
      label: 'New API token',
      alsoFound: ['create'],
      to: `${paths.tokens(id)}?${newTokenParam}`,
      needs: 'api-token.create',
    },
  ];
  return all.filter(({ needs }) => may(role, needs));
}
