// logs: the visitor log of a tunnel, once or as visits come.

import type { AnswerOf } from '@underpass/rules/api/call.ts';
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import { counted } from '@underpass/rules/text/counted.ts';
import { type VisitorLogFilter, visitorLogBounds, visitorLogFilters } from '@underpass/rules/tunnel/visitor-log.ts';
import { type Command, Option } from 'commander';
import { openProject, type ProjectAccount } from '../account/account.ts';
import { isTemporary } from '../account/api.ts';
import { fetchTunnel } from '../account/connectable.ts';
import { ClientError } from '../process/error.ts';
import { waitMs } from '../process/wait.ts';
import { oneLine, renderJson } from '../terminal/output.ts';
import { type CommonFlags, outputOf, projectCommand, type Shell } from './command-line.ts';

interface LogFlags extends CommonFlags {
  readonly follow?: boolean;
  readonly status?: VisitorLogFilter;
  readonly search?: string;
}

type Entry = AnswerOf<typeof tunnelCalls.listVisitorLog>['entries'][number];

/** Control writes visits once a second. */
const followEveryMs = 1_000;

export function addLogCommand(program: Command, shell: Shell): void {
  projectCommand(program, 'logs <tunnel>', 'Show who visited a tunnel whose visitor log is on.', [
    'underpass logs shop',
    'underpass logs shop -f --status refused',
    'underpass logs shop -f --json | jq .path',
  ])
    .option('-f, --follow', 'go on with visits as they come; with --json a line for each')
    .addOption(new Option('--status <status>', 'only those with this outcome').choices(visitorLogFilters))
    .option('--search <words>', 'only those with these words, in any field')
    .action((name: string, flags: LogFlags) => logs(shell, name, flags));
}

async function logs(shell: Shell, name: string, flags: LogFlags): Promise<void> {
  const account = await openProject(shell.io, flags);
  await refuseOff(account, name);
  const { entries } = await read(account, name, flags);
  if (flags.follow !== true) {
    const shown = entries.toReversed();
    outputOf(shell, flags).result(
      shown,
      shown.length === 0 ? 'No visits in the last 24 hours.' : shown.map(renderVisit).join('\n'),
    );
    return;
  }
  for (const entry of entries.toReversed()) write(shell, entry, flags);
  await follow(shell, account, name, flags, entries.toReversed());
}

async function refuseOff(account: ProjectAccount, name: string): Promise<void> {
  const { visitorLog } = await fetchTunnel(account, name);
  if (visitorLog !== undefined) return;
  const fix = `Run "underpass tunnels update ${name} --visitor-log truncated".`;
  throw new ClientError('usage', `the visitor log of ${name} is off`, { fix });
}

const read = ({ api, project }: ProjectAccount, name: string, { status, search: q }: LogFlags, after?: string) =>
  api.call(tunnelCalls.listVisitorLog, { project: project.id, name, status, q, after });

/** Control's processes write at the same time, so an older visit may come behind a newer one by so much. */
const disorderMs = 3_000;
/** Visits that are remembered as shown: more than come within `disorderMs`. */
const mostRecent = 2_000;

/** The newest visit behind which no older one comes any more. */
function settledId(recent: readonly Entry[]): string | undefined {
  const newestMs = Date.parse(recent.at(-1)?.at ?? '');
  return recent.findLast(({ at }) => Date.parse(at) <= newestMs - disorderMs)?.id;
}

/** Reads on until Ctrl-C. */
async function follow(
  shell: Shell,
  account: ProjectAccount,
  name: string,
  flags: LogFlags,
  shown: readonly Entry[],
): Promise<void> {
  const stop = new AbortController();
  const endings = [shell.io.onSignal('SIGINT', () => stop.abort()), shell.io.onSignal('SIGTERM', () => stop.abort())];
  shell.io.onReaderGone(() => stop.abort());
  let recent = shown;
  let after = settledId(recent);
  while (!stop.signal.aborted) {
    const { entries } = await readOn(shell, account, name, flags, after);
    const known = new Set(recent.map(({ id }) => id));
    const fresh = entries.toReversed().filter(({ id }) => !known.has(id));
    for (const entry of fresh) write(shell, entry, flags);
    recent = [...recent, ...fresh].sort((one, other) => (one.id < other.id ? -1 : 1)).slice(-mostRecent);
    const isFull = after !== undefined && entries.length === visitorLogBounds.pageRows;
    after = isFull ? entries[0]!.id : settledId(recent);
    if (!isFull) await waitMs(followEveryMs, stop.signal);
  }
  for (const end of endings) end();
}

/** A server that restarts ends no following. */
async function readOn(shell: Shell, account: ProjectAccount, name: string, flags: LogFlags, after: string | undefined) {
  try {
    return await read(account, name, flags, after);
  } catch (error) {
    if (!isTemporary(error)) throw error;
    outputOf(shell, flags).warning(`${(error as Error).message}; trying again`);
    await waitMs(5 * followEveryMs);
    return { entries: [] as readonly Entry[] };
  }
}

function write({ io }: Shell, entry: Entry, { json }: LogFlags): void {
  io.stdout.write(`${json ? renderJson(entry) : renderVisit(entry)}\n`);
}

const ms = (value: number): string => (value < 10 ? value.toFixed(1) : String(Math.round(value)));

/** One line, whatever the server says. */
export function renderVisit(entry: Entry): string {
  const { at, missed, address, who, method, host, path, status, bytes, totalMs, code, rule, trace } = entry;
  if (missed > 0) return `${at} ${counted(missed, 'more visit')} not shown`;
  const what = method === '' ? `${host} connection` : `${method} ${host}${path} ${status}`;
  const parts = [
    ...(code === '' ? [] : [rule ? `${code} by rule ${rule}` : code]),
    `${bytes} B`,
    `${ms(totalMs)} ms${timesOf(entry)}`,
    ...(who === '' ? [] : [`as ${who}`]),
    ...(trace ? [`trace ${trace}`] : []),
  ];
  return oneLine(`${at} ${address} ${what} ${parts.join(' ')}`);
}

function timesOf({ edgeMs, tunnelMs, upstreamMs }: Entry): string {
  const known = [
    ['edge', edgeMs],
    ['tunnel', tunnelMs],
    ['upstream', upstreamMs],
  ] as const;
  const parts = known.flatMap(([name, value]) => (value === null ? [] : [`${name} ${ms(value)}`]));
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}
