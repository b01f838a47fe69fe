// Machine tokens, links and programs: what admits a program, or anyone with an address, without a sign-in of its own.

import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import { neverLabel } from '@underpass/rules/text/date.ts';
import { methodLabels, usesOf } from '@underpass/rules/visit/words.ts';
import type { Command } from 'commander';
import { openProject } from '../account/account.ts';
import { type CommonFlags, outputOf, parseWhole, projectCommand, type Shell } from './command-line.ts';
import { addEnd, addList } from './list-commands.ts';

interface TokenFlags extends CommonFlags {
  readonly days?: number;
}

interface LinkFlags extends CommonFlags {
  readonly hours?: number;
  readonly uses?: number;
}

export function addAccessTokenCommands(access: Command, shell: Shell): void {
  const tokens = access.command('tokens').description('Machine tokens: programs send one instead of signing in.');
  addList(tokens, shell, {
    of: '<policy>',
    about: 'List the machine tokens of a policy.',
    example: 'underpass access tokens list team',
    read: ({ api, project }, name) => api.call(accessCalls.listAccessTokens, { project: project.id, name }),
    columns: ['ID', 'NAME', 'CREATED BY', 'ENDS'],
    cells: ({ id, name, createdBy, expiresAt }) => [id, name, createdBy, expiresAt ?? neverLabel],
    none: 'No machine tokens.',
  });
  projectCommand(tokens, 'add <policy> <name>', 'Create a machine token and print it once.', [
    'underpass access tokens add team ci --days 90',
  ])
    .option('--days <number>', 'it ends after this many days (default: never)', parseWhole)
    .action((policy: string, name: string, flags: TokenFlags) => addToken(shell, policy, name, flags));
  addEnd(tokens, shell, {
    words: '<policy> <id>',
    about: 'End a machine token.',
    example: 'underpass access tokens rm team 01k9',
    warning: 'Programs with it are refused at once.',
    deed: 'End the machine token',
    end: ({ api, project }, id, name) => api.call(accessCalls.deleteAccessToken, { project: project.id, name, id }),
  });
}

export function addAccessLinkCommands(access: Command, shell: Shell): void {
  const links = access.command('links').description('Share links: anyone with the address may visit.');
  addList(links, shell, {
    of: '<policy>',
    about: 'List the share links of a policy.',
    example: 'underpass access links list preview',
    read: ({ api, project }, name) => api.call(accessCalls.listAccessLinks, { project: project.id, name }),
    columns: ['ID', 'NAME', 'USES', 'LAST USED', 'ENDS'],
    cells: (link) => [link.id, link.name, usesOf(link), link.usedAt ?? neverLabel, link.expiresAt ?? neverLabel],
    none: 'No share links.',
  });
  projectCommand(links, 'add <policy> <name>', 'Create a share link and print its addresses once.', [
    'underpass access links add preview customer --hours 48 --uses 5',
  ])
    .option('--hours <number>', 'it ends after this many hours (default: never)', parseWhole)
    .option('--uses <number>', 'how often it signs somebody in (default: any number)', parseWhole)
    .action((policy: string, name: string, flags: LinkFlags) => addLink(shell, policy, name, flags));
  addEnd(links, shell, {
    words: '<policy> <id>',
    about: 'End a share link and the visits that it gave.',
    example: 'underpass access links rm preview 01k9',
    warning: 'Visits that it gave end at once.',
    deed: 'End the share link',
    end: ({ api, project }, id, name) => api.call(accessCalls.deleteAccessLink, { project: project.id, name, id }),
  });
}

export function addAccessProgramCommands(access: Command, shell: Shell): void {
  const programs = access.command('programs').description('Programs that visitors allowed to act for them, such as MCP clients.');
  addList(programs, shell, {
    of: '<policy>',
    about: 'List the programs of a policy.',
    example: 'underpass access programs list team',
    read: ({ api, project }, name) => api.call(accessCalls.listAccessPrograms, { project: project.id, name }),
    columns: ['ID', 'PROGRAM', 'FOR', 'HOST', 'ENDS'],
    cells: ({ id, name, site, who, method, host, endsAt }) => [
      ...[id, site === null ? name : `${name} (${site})`],
      ...[who || (methodLabels[method] ?? method), host, endsAt],
    ],
    none: 'No programs.',
  });
  addEnd(programs, shell, {
    words: '<policy> <id>',
    about: "End a program's access.",
    example: 'underpass access programs rm team 3f2a91',
    warning: 'It is refused at once, and may ask its visitor again.',
    deed: 'End the program',
    end: ({ api, project }, id, name) => api.call(accessCalls.deleteAccessProgram, { project: project.id, name, id }),
  });
}

async function addToken(shell: Shell, policy: string, name: string, flags: TokenFlags): Promise<void> {
  const { api, project } = await openProject(shell.io, flags);
  const payload = { name, expiresInDays: flags.days };
  const made = await api.call(accessCalls.createAccessToken, { project: project.id, name: policy, payload });
  const output = outputOf(shell, flags);
  output.notice('This is the only time that the token is shown.');
  output.result(made, made.token);
}

async function addLink(shell: Shell, policy: string, name: string, flags: LinkFlags): Promise<void> {
  const { api, project } = await openProject(shell.io, flags);
  const payload = { name, expiresInHours: flags.hours, mostUses: flags.uses };
  const made = await api.call(accessCalls.createAccessLink, { project: project.id, name: policy, payload });
  const output = outputOf(shell, flags);
  output.notice('This is the only time that the link is shown.');
  output.result(made, made.urls.join('\n'));
}
