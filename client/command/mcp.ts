// `underpass mcp -- COMMAND`: a stdio MCP server at a public address, behind an access policy. Its modules load only when it runs.

import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import type { AccessPolicy } from '@underpass/rules/visit/access-policy.ts';
import { admitsNobody, describeVisitors, isOpen } from '@underpass/rules/visit/describe.ts';
import type { Command } from 'commander';
import type { ProjectAccount } from '../account/account.ts';
import { ClientError } from '../process/error.ts';
import type { LogEvent } from '../terminal/log-line.ts';
import type { Output } from '../terminal/output.ts';
import { caOption } from './carry.ts';
import { describe, outputOf, printUrlOption, type Shell, withPrint } from './command-line.ts';
import { type QuickFlags, withQuickOptions } from './quick-options.ts';

interface McpFlags extends QuickFlags {
  readonly shared?: boolean;
  readonly print?: 'url';
}

/** Made at the first start without --access. */
const memberPolicy = 'mcp-members';

export function addMcpCommand(program: Command, shell: Shell): void {
  const command = describe(
    program.command('mcp'),
    'Serve a stdio MCP server at a public address, for visitors of an access policy.',
    [
      'underpass mcp -- npx -y @modelcontextprotocol/server-filesystem .',
      'underpass mcp --access team --name notes --keep -- python3 server.py',
      'underpass mcp --shared -- ./server --read-only',
    ],
  ).argument('<command...>', 'after --: the program and its arguments');
  withQuickOptions(command, { inspects: false })
    .addOption(printUrlOption())
    .option('--shared', 'one server for all sessions (default: one for each)')
    .addOption(caOption())
    .action((words: readonly string[], flags: McpFlags) =>
      withPrint(shell, flags.print, (inner) => serveMcp(inner, words, { ...flags, inspect: false })),
    );
}

async function serveMcp(shell: Shell, command: readonly string[], flags: McpFlags): Promise<void> {
  const output = outputOf(shell, flags);
  const { startMcpUpstream } = await import('../mcp/serve.ts');
  const { carryInside } = await import('./carry-quick.ts');
  let report: (event: LogEvent) => void = ({ text }) => output.notice(`server: ${text}`);
  const isShared = flags.shared === true;
  const upstream = await startMcpUpstream(shell.io, { command, isShared, report: (event) => report(event) });
  try {
    await carryInside(shell, upstream.inside, flags, {
      note: `MCP server ${upstream.name}, ${isShared ? 'one for all' : 'one for each session'}.`,
      chooseAccess: (account) => choosePolicy(account, flags.access, output),
      onReport: (reporter) => {
        report = reporter;
      },
    });
  } finally {
    await upstream.end();
  }
}

/** Returns the name of the policy that guards the tunnel. Without a name it is one for the members of the project. */
async function choosePolicy(account: ProjectAccount, name: string | undefined, output: Output): Promise<string> {
  const policy = name === undefined ? await openMemberPolicy(account) : await fetchPolicy(account, name);
  if (isOpen(policy) || admitsNobody(policy))
    throw new ClientError('usage', `access policy ${policy.name} admits ${isOpen(policy) ? 'everybody' : 'nobody'}`, {
      fix: `Change it with "underpass access set ${policy.name}", or name another with --access.`,
    });
  output.notice(`Visitors sign in under access policy ${policy.name}: ${describeVisitors(policy)}.`);
  return policy.name;
}

const fetchPolicy = ({ api, project }: ProjectAccount, name: string): Promise<AccessPolicy> =>
  api.call(accessCalls.getAccessPolicy, { project: project.id, name });

async function openMemberPolicy(account: ProjectAccount): Promise<AccessPolicy> {
  const { api, project } = account;
  const found = await fetchPolicy(account, memberPolicy).catch(unlessCode('not-found'));
  if (found !== undefined) return found;
  const payload = { name: memberPolicy, members: true };
  const made = await api.call(accessCalls.createAccessPolicy, { project: project.id, payload }).catch(unlessCode('conflict'));
  return made ?? fetchPolicy(account, memberPolicy);
}

const unlessCode =
  (code: ClientError['code']) =>
  (error: unknown): undefined => {
    if (!(error instanceof ClientError) || error.code !== code) throw error;
  };
