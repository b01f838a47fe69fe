// The options of quick tunnels.

import { type Command, Option } from 'commander';
import type { UpstreamFlags } from './carry.ts';
import { type CommonFlags, collect, withProject } from './command-line.ts';

export interface QuickFlags extends CommonFlags, UpstreamFlags {
  readonly json?: boolean;
  readonly name?: string;
  readonly domain?: readonly string[];
  readonly keep?: boolean;
  readonly for?: string;
  readonly group?: string;
  readonly access?: string;
  readonly region?: string;
}

export const quickOptions = ['name', 'domain', 'keep', 'for', 'group', 'access', 'region', 'server', 'project'] as const;

interface Form {
  /** Says which of a command's forms the options belong to. */
  readonly lead?: string;
  /** Whether an inspector can show its requests. */
  readonly inspects?: boolean;
  /** A tcp tunnel has a port, and no domain or access policy. */
  readonly type?: 'http' | 'tcp';
}

export function withQuickOptions(command: Command, { lead = '', inspects = true, type = 'http' }: Form = {}): Command {
  const isHttp = type === 'http';
  const address = isHttp ? ', and of its address where the operator permits it' : '';
  withProject(command).option('--name <name>', `${lead}name of the tunnel${address} (default: generated)`);
  if (isHttp) command.option('--domain <name>', `${lead}ingress domain of yours; may be repeated (default: generated)`, collect);
  command.option('--group <name>', `${lead}security group`);
  if (isHttp) command.option('--access <policy>', `${lead}access policy: who may visit`);
  command
    .option('--region <name>', `${lead}region (default: the first available one)`)
    .addOption(new Option('--keep', `${lead}do not delete the tunnel at the end`).conflicts('for'));
  if (inspects && isHttp) command.option('--no-inspect', `${lead}without the inspector`);
  return command.option('--for <time>', `${lead}end after this time, such as 30m, 2h or 1d`);
}
