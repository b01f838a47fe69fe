// The options of `access add` and `access set`, and the payload that they become.

import type { PayloadOf } from '@underpass/rules/api/call.ts';
import type { Calls } from '@underpass/rules/api/calls.ts';
import { pathActions } from '@underpass/rules/visit/path-rule.ts';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { ClientError } from '../process/error.ts';
import { type CommonFlags, collect, collectEntries, parseWhole, readGiven, type Shell } from './command-line.ts';

type Change = PayloadOf<Calls['updateAccessPolicy']>;
type Rule = NonNullable<Change['rules']>[number];

export interface PolicyFlags extends CommonFlags {
  readonly members?: boolean;
  readonly person?: readonly string[];
  readonly addPerson?: readonly string[];
  readonly rmPerson?: readonly string[];
  /** True: ask for it. False: remove it. */
  readonly password?: boolean;
  readonly passwordFile?: string;
  readonly rule?: readonly Rule[];
  /** False: remove the provider. */
  readonly provider?: boolean;
  readonly issuer?: string;
  readonly clientId?: string;
  readonly clientSecretFile?: string;
  readonly label?: string;
  readonly providerPerson?: readonly string[];
  readonly groupClaim?: string;
  readonly providerGroup?: readonly string[];
  readonly tokenHeader?: string;
  readonly origin?: readonly string[];
  readonly sessionHours?: number;
  readonly log?: boolean;
}

export function policyOptions(command: Command): Command {
  return command
    .addOption(new Option('--members', 'admit the members of the project'))
    .option('--no-members', 'do not admit them')
    .option(
      '--person <email>',
      "admit these people by a code in a mail; '*@firm.com' is everybody there; may be repeated",
      collectEntries,
    )
    .option('--password', 'admit anyone who knows a password, and ask for it')
    .option('--password-file <file>', 'the same, with the password in a file')
    .option('--no-password', 'remove the password')
    .option(
      '--rule <path=action>',
      `${pathActions.join(', ')}: the first rule that matches decides; a path may name an MCP call, as in '/mcp#tools/call delete_*=deny'; may be repeated`,
      collectRules,
    )
    .option('--issuer <url>', 'admit people of this OpenID Connect provider')
    .option('--client-id <id>', 'of the service at the provider')
    .option('--client-secret-file <file>', 'a file with its secret')
    .option('--label <name>', 'what the sign-in calls the provider')
    .option(
      '--provider-person <email>',
      "these people of the provider; '*@firm.com' is everybody there; may be repeated",
      collectEntries,
    )
    .option('--group-claim <name>', 'the claim that lists the groups of a person')
    .option('--provider-group <name>', 'these groups of the provider; may be repeated', collect)
    .option('--no-provider', 'remove the provider')
    .option('--token-header <name>', 'the header field of machine tokens (default: authorization, as Bearer)')
    .option(
      '--origin <url>',
      'pages of these other origins may use a session to write and to open WebSockets; may be repeated',
      collectEntries,
    )
    .option('--session-hours <hours>', 'how long a sign-in lasts', parseWhole)
    .option('--log', 'write sign-ins to the log')
    .option('--no-log', 'do not write them');
}

function collectRules(value: string, before: readonly Rule[] = []): readonly Rule[] {
  const [path, action] = [value.slice(0, value.lastIndexOf('=')), value.slice(value.lastIndexOf('=') + 1)];
  const known = pathActions.find((each) => each === action);
  if (known === undefined || path === '')
    throw new InvalidArgumentError(`Write a path, '=' and one of ${pathActions.join(', ')}.`);
  return [...before, { path, action: known }];
}

/** The fields that the flags change, without the others. */
export async function policyOf(shell: Shell, flags: PolicyFlags): Promise<Change> {
  const change = {
    members: flags.members,
    people: flags.person,
    password: await passwordOf(shell, flags),
    rules: flags.rule,
    provider: await providerOf(shell, flags),
    tokenHeader: flags.tokenHeader,
    origins: flags.origin,
    sessionHours: flags.sessionHours,
    log: flags.log,
  };
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}

async function passwordOf(shell: Shell, { password, passwordFile }: PolicyFlags): Promise<string | undefined> {
  if (passwordFile !== undefined) return readSecretFile(shell, passwordFile);
  if (password === undefined) return undefined;
  if (!password) return '';
  if (!shell.io.stdin.isTTY) throw new ClientError('usage', 'give --password-file: there is no terminal to ask for the password');
  const typed = await shell.io.askSecret('Password (not shown): ');
  if (typed === '') throw new ClientError('not-confirmed', '');
  if ((await shell.io.askSecret('Again: ')) !== typed) throw new ClientError('usage', 'the two passwords differ');
  return typed;
}

async function providerOf(shell: Shell, flags: PolicyFlags): Promise<Change['provider']> {
  if (flags.provider === false) return false;
  const { issuer, clientId, clientSecretFile, label, providerPerson, groupClaim, providerGroup } = flags;
  const rest = [clientId, clientSecretFile, label, providerPerson, groupClaim, providerGroup];
  if (issuer === undefined || clientId === undefined) {
    if (issuer === undefined && rest.every((each) => each === undefined)) return undefined;
    throw new ClientError('usage', 'a provider needs both --issuer and --client-id');
  }
  const clientSecret = clientSecretFile === undefined ? undefined : await readSecretFile(shell, clientSecretFile);
  return { issuer, clientId, clientSecret, label, people: providerPerson, groupClaim, groups: providerGroup };
}

/** Longer than any password or client secret. */
const maxSecretBytes = 4_096;

/** Leaves out the line ending that editors add. */
const readSecretFile = async (shell: Shell, file: string): Promise<string> =>
  (await readGiven(shell, file, maxSecretBytes)).replace(/\r?\n$/, '');
