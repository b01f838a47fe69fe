// Machine tokens, links and programs: what admits a program, or anyone with an address, without a sign-in of its own.

import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import { neverLabel } from '@underpass/rules/text/date.ts';
import { methodLabels, usesOf } from '@underpass/rules/visit/words.ts';
import type { Command } from 'commander';
import { openProject } from '../account/account.ts';
import { renderTable } from '../terminal/output.ts';
import { confirm } from '../terminal/prompt.ts';
import {
  type CommonFlags,
  type ConfirmedFlags,
  confirmedCommand,
  outputOf,
  parseWhole,
  projectCommand,
  type Shell,
} from './command-line.ts';

interface TokenFlags extends CommonFlags {
  readonly days?: number;
}

interface LinkFlags extends CommonFlags {
  readonly hours?: number;
  readonly uses?: number;
}

export function addAccessTokenCommands(access: Command, shell: Shell): void {
  const tokens = access.command('tokens').description('Machine tokens: programs send one instead of signing in.');
  projectCommand(tokens, 'list <policy>', 'List the machine tokens of a policy.', ['underpass access tokens list team'])
    .alias('ls')
    .action((policy: string, flags: CommonFlags) => listTokens(shell, policy, flags));
  projectCommand(tokens, 'add <policy> <name>', 'Create a machine token and print it once.', [
    'underpass access tokens add team ci --days 90',
  ])
    .option('--days <number>', 'it ends after this many days (default: never)', parseWhole)
    .action((policy: string, name: string, flags: TokenFlags) => addToken(shell, policy, name, flags));
  confirmedCommand(tokens, 'rm <policy> <id>', 'End a machine token.', ['underpass access tokens rm team 01k9']).action(
    (policy: string, id: string, flags: ConfirmedFlags) => removeToken(shell, policy, id, flags),
  );
}

export function addAccessLinkCommands(access: Command, shell: Shell): void {
  const links = access.command('links').description('Share links: anyone with the address may visit.');
  projectCommand(links, 'list <policy>', 'List the share links of a policy.', ['underpass access links list preview'])
    .alias('ls')
    .action((policy: string, flags: CommonFlags) => listLinks(shell, policy, flags));
  projectCommand(links, 'add <policy> <name>', 'Create a share link and print its addresses once.', [
    'underpass access links add preview customer --hours 48 --uses 5',
  ])
    .option('--hours <number>', 'it ends after this many hours (default: never)', parseWhole)
    .option('--uses <number>', 'how often it signs somebody in (default: any number)', parseWhole)
    .action((policy: string, name: string, flags: LinkFlags) => addLink(shell, policy, name, flags));
  confirmedCommand(links, 'rm <policy> <id>', 'End a share link and the visits that it gave.', [
    'underpass access links rm preview 01k9',
  ]).action((policy: string, id: string, flags: ConfirmedFlags) => removeLink(shell, policy, id, flags));
}

export function addAccessProgramCommands(access: Command, shell: Shell): void {
  const programs = access.command('programs').description('Programs that visitors allowed to act for them, such as MCP clients.');
  projectCommand(programs, 'list <policy>', 'List the programs of a policy.', ['underpass access programs list team'])
    .alias('ls')
    .action((policy: string, flags: CommonFlags) => listPrograms(shell, policy, flags));
  confirmedCommand(programs, 'rm <policy> <id>', "End a program's access.", ['underpass access programs rm team 3f2a91']).action(
    (policy: string, id: string, flags: ConfirmedFlags) => removeProgram(shell, policy, id, flags),
  );
}

async function listTokens(shell: Shell, policy: string, flags: CommonFlags): Promise<void> {
  const { api, project } = await openProject(shell.io, flags);
  const tokens = await api.call(accessCalls.listAccessTokens, { project: project.id, name: policy });
  const rows = tokens.map(({ id, name, createdBy, expiresAt }) => [id, name, createdBy, expiresAt ?? neverLabel]);
  const text = rows.length === 0 ? 'No machine tokens.' : renderTable(['ID', 'NAME', 'CREATED BY', 'ENDS'], rows);
  outputOf(shell, flags).result(tokens, text);
}

async function addToken(shell: Shell, policy: string, name: string, flags: TokenFlags): Promise<void> {
  const { api, project } = await openProject(shell.io, flags);
  const payload = { name, expiresInDays: flags.days };
  const made = await api.call(accessCalls.createAccessToken, { project: project.id, name: policy, payload });
  const output = outputOf(shell, flags);
  output.notice('This is the only time that the token is shown.');
  output.result(made, made.token);
}

async function removeToken(shell: Shell, policy: string, id: string, flags: ConfirmedFlags): Promise<void> {
  const { api, project } = await openProject(shell.io, flags);
  await confirm(shell.io, 'Programs with it are refused at once.', `End the machine token ${id}?`, flags.yes);
  await api.call(accessCalls.deleteAccessToken, { project: project.id, name: policy, id });
  outputOf(shell, flags).result({ deleted: id }, `Ended ${id}.`);
}

async function listLinks(shell: Shell, policy: string, flags: CommonFlags): Promise<void> {
  const { api, project } = await openProject(shell.io, flags);
  const links = await api.call(accessCalls.listAccessLinks, { project: project.id, name: policy });
  const rows = links.map((link) => [
    ...[link.id, link.name, usesOf(link), link.usedAt ?? neverLabel],
    link.expiresAt ?? neverLabel,
  ]);
  const text = rows.length === 0 ? 'No share links.' : renderTable(['ID', 'NAME', 'USES', 'LAST USED', 'ENDS'], rows);
  outputOf(shell, flags).result(links, text);
}

async function addLink(shell: Shell, policy: string, name: string, flags: LinkFlags): Promise<void> {
  const { api, project } = await openProject(shell.io, flags);
  const payload = { name, expiresInHours: flags.hours, mostUses: flags.uses };
  const made = await api.call(accessCalls.createAccessLink, { project: project.id, name: policy, payload });
  const output = outputOf(shell, flags);
  output.notice('This is the only time that the link is shown.');
  output.result(made, made.urls.join('\n'));
}

async function removeLink(shell: Shell, policy: string, id: string, flags: ConfirmedFlags): Promise<void> {
  const { api, project } = await openProject(shell.io, flags);
  await confirm(shell.io, 'Visits that it gave end at once.', `End the share link ${id}?`, flags.yes);
  await api.call(accessCalls.deleteAccessLink, { project: project.id, name: policy, id });
  outputOf(shell, flags).result({ deleted: id }, `Ended ${id}.`);
}

async function listPrograms(shell: Shell, policy: string, flags: CommonFlags): Promise<void> {
  const { api, project } = await openProject(shell.io, flags);
  const programs = await api.call(accessCalls.listAccessPrograms, { project: project.id, name: policy });
  const rows = programs.map(({ id, name, site, who, method, host, endsAt }) => [
    ...[id, site === null ? name : `${name} (${site})`],
    ...[who || (methodLabels[method] ?? method), host, endsAt],
  ]);
  const text = rows.length === 0 ? 'No programs.' : renderTable(['ID', 'PROGRAM', 'FOR', 'HOST', 'ENDS'], rows);
  outputOf(shell, flags).result(programs, text);
}

async function removeProgram(shell: Shell, policy: string, id: string, flags: ConfirmedFlags): Promise<void> {
  const { api, project } = await openProject(shell.io, flags);
  await confirm(shell.io, 'It is refused at once, and may ask its visitor again.', `End the program ${id}?`, flags.yes);
  await api.call(accessCalls.deleteAccessProgram, { project: project.id, name: policy, id });
  outputOf(shell, flags).result({ deleted: id }, `Ended ${id}.`);
}
