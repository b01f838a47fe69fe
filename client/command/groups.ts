// groups list|show|add|set|rm: security groups, the allow-lists of source addresses.

import { parseSourceAddress } from '@underpass/rules/address/source-address.ts';
import { securityGroupCalls } from '@underpass/rules/api/security-group-calls.ts';
import type { SecurityGroup } from '@underpass/rules/entity/entity.ts';
import type { Command } from 'commander';
import { openProject, type ProjectAccount } from '../account/account.ts';
import { saveChange } from '../account/api.ts';
import { ClientError } from '../process/error.ts';
import { renderFields } from '../terminal/output.ts';
import {
  type CommonFlags,
  canonicalOf,
  collectEntries,
  outputOf,
  projectCommand,
  requireOption,
  type Shell,
} from './command-line.ts';
import { addEnd, addList } from './list-commands.ts';

interface AddFlags extends CommonFlags {
  readonly allow?: readonly string[];
}

interface SetFlags extends CommonFlags {
  readonly allow?: readonly string[];
  readonly add?: readonly string[];
  readonly rm?: readonly string[];
}

export function addGroupCommands(program: Command, shell: Shell): void {
  const groups = program.command('groups').description('Security groups: the addresses that may reach a tunnel.');
  addList(groups, shell, {
    about: 'List the security groups.',
    example: 'underpass groups list',
    read: ({ api, project }) => api.call(securityGroupCalls.listSecurityGroups, { project: project.id }),
    columns: ['NAME', 'RULES', 'TUNNELS', 'LAST UPDATED'],
    cells: (group) => [group.name, String(group.allowList.length), String(group.assignmentCount), group.updatedAt],
  });
  projectCommand(groups, 'show <name>', 'Show the allow rules of a group.', ['underpass groups show office']).action(
    (name: string, flags: CommonFlags) => show(shell, name, flags),
  );
  projectCommand(groups, 'add <name>', 'Create a group that allows the given addresses.', [
    'underpass groups add office --allow 192.0.2.0/24 --allow 2001:db8::/32',
  ])
    .option('--allow <address>', 'IP addresses or CIDR ranges; may be repeated', collectEntries)
    .action((name: string, flags: AddFlags) => add(shell, name, flags));
  projectCommand(groups, 'set <name>', 'Replace the allow rules, or add and remove some.', [
    'underpass groups set office --allow 192.0.2.7',
    'underpass groups set office --add 198.51.100.0/24 --rm 192.0.2.7',
  ])
    .option('--allow <address>', 'the whole new list; may be repeated', collectEntries)
    .option('--add <address>', 'add a rule; may be repeated', collectEntries)
    .option('--rm <address>', 'remove a rule; may be repeated', collectEntries)
    .action((name: string, flags: SetFlags) => set(shell, name, flags));
  addEnd(groups, shell, {
    words: '<name>',
    about: 'Delete a group.',
    example: 'underpass groups rm office --yes',
    warning: 'This operation is permanent.',
    deed: 'Delete the security group',
    end: ({ api, project }, name) => api.call(securityGroupCalls.deleteSecurityGroup, { project: project.id, name }),
  });
}

async function show(shell: Shell, name: string, flags: CommonFlags): Promise<void> {
  const account = await openProject(shell.io, flags);
  await printGroup(shell, account, name, flags);
}

async function add(shell: Shell, name: string, flags: AddFlags): Promise<void> {
  const allow = requireOption(flags.allow, '--allow <address>');
  const account = await openProject(shell.io, flags);
  const { api, project } = account;
  await api.call(securityGroupCalls.createSecurityGroup, { project: project.id, payload: { name, allow } });
  await printGroup(shell, account, name, flags);
}

async function set(shell: Shell, name: string, flags: SetFlags): Promise<void> {
  const { allow, add: added, rm: removed } = flags;
  if ((allow === undefined) === (added === undefined && removed === undefined)) {
    throw new ClientError('usage', 'give either --allow for the whole list, or --add and --rm for changes');
  }
  const account = await openProject(shell.io, flags);
  const save = (rules: readonly string[], basedOn?: string) =>
    account.api.call(securityGroupCalls.updateSecurityGroup, {
      ...{ project: account.project.id, name, payload: { allow: rules } },
      ...(basedOn === undefined ? {} : { basedOn }),
    });
  if (allow) await save(allow);
  else
    await saveChange(
      () => fetchGroup(account, name),
      (before) => save(changed(before, added ?? [], (removed ?? []).map(canonicalRule)), before.updatedAt),
    );
  await printGroup(shell, account, name, flags);
}

const canonicalRule = (text: string) => canonicalOf(parseSourceAddress, text);

function changed({ name, allowList }: SecurityGroup, added: readonly string[], removed: readonly string[]): readonly string[] {
  const unknown = removed.find((rule) => !allowList.includes(rule));
  if (unknown !== undefined) {
    throw new ClientError('not-found', `${name} has no rule '${unknown}'`, { fix: `Run "underpass groups show ${name}".` });
  }
  return [...allowList.filter((rule) => !removed.includes(rule)), ...added];
}

function fetchGroup({ api, project }: ProjectAccount, name: string): Promise<SecurityGroup> {
  return api.call(securityGroupCalls.getSecurityGroup, { project: project.id, name });
}

async function printGroup(shell: Shell, account: ProjectAccount, name: string, flags: CommonFlags): Promise<void> {
  const group = await fetchGroup(account, name);
  const text = renderFields([
    ['Name', group.name],
    ['Tunnels', String(group.assignmentCount)],
    ['Last updated', group.updatedAt],
    ['Allow', group.allowList.join('\n')],
  ]);
  outputOf(shell, flags).result(group, text);
}
