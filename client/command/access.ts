// access list|show|add|set|rm|test|sign-out|sign-ins: access policies, which say who may visit http tunnels.
// Their machine tokens, share links and programs are in access-secrets.ts.

import { resolve } from 'node:path';
import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import type { AccessPolicy } from '@underpass/rules/visit/access-policy.ts';
import { describeVisitors } from '@underpass/rules/visit/describe.ts';
import { methodLabels, outcomeLabels } from '@underpass/rules/visit/words.ts';
import type { Command } from 'commander';
import { openProject, type ProjectAccount } from '../account/account.ts';
import { saveChange } from '../account/api.ts';
import { readTokenFile } from '../config/token.ts';
import { ClientError } from '../process/error.ts';
import { renderFields, renderTable } from '../terminal/output.ts';
import { confirm } from '../terminal/prompt.ts';
import { type PolicyFlags, policyOf, policyOptions } from './access-options.ts';
import { addAccessLinkCommands, addAccessProgramCommands, addAccessTokenCommands } from './access-secrets.ts';
import {
  type CommonFlags,
  type ConfirmedFlags,
  collect,
  confirmedCommand,
  describe,
  outputOf,
  projectCommand,
  type Shell,
  withProject,
} from './command-line.ts';
import { addEnd, addList } from './list-commands.ts';

interface TestFlags extends CommonFlags {
  readonly email?: string;
  readonly tokenFile?: string;
  readonly address?: string;
}

interface SignInFlags extends CommonFlags {
  readonly policy?: string;
}

export function addAccessCommands(program: Command, shell: Shell): void {
  const access = program.command('access').description('Access policies: who may visit an http tunnel.');
  addList(access, shell, {
    about: 'List the access policies.',
    example: 'underpass access list',
    read: ({ api, project }) => api.call(accessCalls.listAccessPolicies, { project: project.id }),
    columns: ['NAME', 'ADMITS', 'TUNNELS'],
    cells: (policy) => [policy.name, describeVisitors(policy), policy.tunnels.join(', ')],
    none: 'No access policies. Create one: underpass access add team --members',
  });
  projectCommand(access, 'show <policy>', 'Show one access policy.', ['underpass access show team']).action(
    (name: string, flags: CommonFlags) => show(shell, name, flags),
  );
  addChangeCommands(access, shell);
  addEnd(access, shell, {
    words: '<policy>',
    about: 'Delete an access policy.',
    example: 'underpass access rm team --yes',
    warning: 'This operation is permanent.',
    deed: 'Delete the access policy',
    end: ({ api, project }, name) => api.call(accessCalls.deleteAccessPolicy, { project: project.id, name }),
  });
  addTest(access, shell);
  addAccessTokenCommands(access, shell);
  addAccessLinkCommands(access, shell);
  addAccessProgramCommands(access, shell);
  confirmedCommand(access, 'sign-out <policy> [email]', 'End the visits of one person, or of everybody.', [
    'underpass access sign-out team eve@example.com',
    'underpass access sign-out team --yes',
  ]).action((name: string, email: string | undefined, flags: ConfirmedFlags) => signOut(shell, name, email, flags));
  projectCommand(access, 'sign-ins', 'Show the last visitors who signed in or tried to.', ['underpass access sign-ins'])
    .option('--policy <name>', 'of this access policy')
    .action((flags: SignInFlags) => signIns(shell, flags));
}

function addChangeCommands(access: Command, shell: Shell): void {
  const add = describe(access.command('add <policy>'), 'Create an access policy.', [
    'underpass access add team --members --rule /health=public',
    "underpass access add clients --person ann@example.com --person '*@firm.com'",
    'underpass access add preview --password',
  ]);
  policyOptions(withProject(add)).action((name: string, flags: PolicyFlags) => create(shell, name, flags));
  const set = describe(access.command('set <policy>'), 'Change an access policy. What you do not name stays.', [
    'underpass access set team --add-person eve@example.com',
    'underpass access set team --no-password --session-hours 8',
  ]);
  policyOptions(withProject(set))
    .option('--add-person <email>', 'admit a person; may be repeated', collect)
    .option('--rm-person <email>', 'admit a person no longer; may be repeated', collect)
    .action((name: string, flags: PolicyFlags) => update(shell, name, flags));
}

function addTest(access: Command, shell: Shell): void {
  const command = describe(
    access.command('test <policy> <url>'),
    'Say whether a visit would be let in, and which rule decides.',
    [
      'underpass access test team https://app.example.com/admin --email ann@example.com',
      'underpass access test team https://app.example.com/api --token-file ci-token.txt --address 192.0.2.7',
    ],
  );
  withProject(command)
    .option('--email <address>', 'who visits')
    .option('--token-file <file>', 'a file with the machine token of the visitor')
    .option('--address <address>', 'where the visit comes from (default: this machine)')
    .action((name: string, url: string, flags: TestFlags) => test(shell, name, url, flags));
}

async function show(shell: Shell, name: string, flags: CommonFlags): Promise<void> {
  await print(shell, await openProject(shell.io, flags), name, flags);
}

async function create(shell: Shell, name: string, flags: PolicyFlags): Promise<void> {
  const account = await openProject(shell.io, flags);
  const payload = { name, ...(await policyOf(shell, flags)) };
  await account.api.call(accessCalls.createAccessPolicy, { project: account.project.id, payload });
  await print(shell, account, name, flags);
}

async function update(shell: Shell, name: string, flags: PolicyFlags): Promise<void> {
  const account = await openProject(shell.io, flags);
  const change = await policyOf(shell, flags);
  const { addPerson = [], rmPerson = [] } = flags;
  const changesPeople = addPerson.length + rmPerson.length > 0;
  if (flags.person !== undefined && changesPeople)
    throw new ClientError('usage', 'give either --person for the whole list, or --add-person and --rm-person for changes');
  if (Object.keys(change).length === 0 && !changesPeople) throw new ClientError('usage', 'say what to change');
  await saveChange(
    () => fetchPolicy(account, name),
    (before) => {
      const people = changesPeople ? { people: changedPeople(before, addPerson, rmPerson) } : {};
      const input = { project: account.project.id, name, payload: { ...change, ...people }, basedOn: before.updatedAt };
      return account.api.call(accessCalls.updateAccessPolicy, input);
    },
  );
  await print(shell, account, name, flags);
}

function changedPeople({ name, people }: AccessPolicy, added: readonly string[], removed: readonly string[]): readonly string[] {
  const leaving = removed.map((person) => person.trim().toLowerCase());
  const unknown = leaving.find((person) => !people.includes(person));
  if (unknown !== undefined) {
    throw new ClientError('not-found', `${name} does not list '${unknown}'`, { fix: `Run "underpass access show ${name}".` });
  }
  return [...people.filter((person) => !leaving.includes(person)), ...added];
}

async function test(shell: Shell, name: string, url: string, flags: TestFlags): Promise<void> {
  const { api, project } = await openProject(shell.io, flags);
  const output = outputOf(shell, flags);
  const token = flags.tokenFile === undefined ? undefined : await readTokenFile(resolve(shell.io.cwd, flags.tokenFile), output);
  const payload = { url, email: flags.email, token, address: flags.address };
  const answer = await api.call(accessCalls.testAccessPolicy, { project: project.id, name, payload });
  const { rule } = answer;
  const text = renderFields([
    ['Outcome', outcomeLabels[answer.outcome]],
    ['Rule', rule === null ? 'none matches: sign-in' : `${rule.path}=${rule.action}`],
    ['Why', answer.why.join('\n')],
  ]);
  output.result(answer, text);
}

async function signOut(shell: Shell, name: string, email: string | undefined, flags: ConfirmedFlags): Promise<void> {
  const { api, project } = await openProject(shell.io, flags);
  const who = email ?? 'everybody';
  await confirm(shell.io, 'Open connections end.', `Sign ${who} out of the tunnels of ${name}?`, flags.yes);
  await api.call(accessCalls.signOutVisitors, { project: project.id, name, payload: { email } });
  outputOf(shell, flags).result(
    { signedOut: who },
    `Signed ${who} out. Visitors whom the policy still admits may sign in again.`,
  );
}

async function signIns(shell: Shell, flags: SignInFlags): Promise<void> {
  const { api, project } = await openProject(shell.io, flags);
  const { policy } = flags;
  const page = await api.call(accessCalls.listAccessSignIns, {
    project: project.id,
    ...(policy === undefined ? {} : { policy }),
  });
  const rows = page.entries.map(({ at, who, method, host, allowed, reason, address }) => [
    ...[at, who, methodLabels[method] ?? method, host, address],
    allowed ? outcomeLabels.allow : reason,
  ]);
  const text = rows.length === 0 ? 'No sign-ins.' : renderTable(['TIME', 'WHO', 'HOW', 'HOST', 'ADDRESS', 'RESULT'], rows);
  outputOf(shell, flags).result(page.entries, text);
}

function fetchPolicy({ api, project }: ProjectAccount, name: string): Promise<AccessPolicy> {
  return api.call(accessCalls.getAccessPolicy, { project: project.id, name });
}

async function print(shell: Shell, account: ProjectAccount, name: string, flags: CommonFlags): Promise<void> {
  const policy = await fetchPolicy(account, name);
  const { provider, rules } = policy;
  const text = renderFields([
    ['Name', policy.name],
    ['Tunnels', policy.tunnels.join('\n') || 'none'],
    ['Members', policy.members ? 'yes' : 'no'],
    ['People', policy.people.join('\n') || 'none'],
    ['Provider', provider === null ? 'none' : `${provider.label} (${provider.issuer})`],
    ['Password', policy.password ? 'yes' : 'no'],
    ['Links', String(policy.linkCount)],
    [
      'Tokens',
      `${policy.tokenCount}, in ${policy.tokenHeader === 'authorization' ? 'Authorization: Bearer' : policy.tokenHeader}`,
    ],
    ['Rules', [...rules.map(({ path, action }) => `${path}=${action}`), 'everything else=sign-in'].join('\n')],
    // An older server does not say.
    ['Origins', policy.origins?.join('\n') || 'its own'],
    ['Session', `${policy.sessionHours} h`],
    ['Sign-in log', policy.log ? 'yes' : 'no'],
  ]);
  outputOf(shell, flags).result(policy, text);
}
