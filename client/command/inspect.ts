// inspect and replay: the requests that a running client with an inspector has seen, from another terminal.

import { type InspectCall, inspectCalls, inspectUrl } from '@underpass/rules/inspect/calls.ts';
import { createEventReader } from '@underpass/rules/inspect/event-data.ts';
import type { Exchange, ExchangeSummary, InspectEvent, InspectRefusal } from '@underpass/rules/inspect/exchange.ts';
import type { Command } from 'commander';
import { type RunFile, readRunFiles, writeOpenFile } from '../inspect/run-file.ts';
import { ClientError } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import { openBrowser } from '../process/open-browser.ts';
import { printable, printableJson, renderJson } from '../terminal/output.ts';
import { describe, outputOf, parsePort, type Shell } from './command-line.ts';
import { renderExchange, renderRow } from './inspect-text.ts';

interface InspectFlags {
  readonly json?: boolean;
  readonly port?: number;
  readonly open?: boolean;
  readonly curl?: boolean;
  readonly har?: boolean;
  readonly reveal?: boolean;
}

interface ReplayFlags {
  readonly json?: boolean;
  readonly port?: number;
  readonly to?: string;
}

export function addInspectCommands(program: Command, shell: Shell): void {
  const port = ['--port <port>', 'port of the inspector, if several clients run one', parsePort] as const;
  describe(
    program.command('inspect [id]'),
    'Show the requests that a client with an inspector sees, as they come, or one of them.',
    ['underpass inspect', 'underpass inspect --json', 'underpass inspect 12 --curl'],
  )
    .option(...port)
    .option('--open', 'open its page in the browser')
    .option('--curl', 'with an id: print a curl command that sends the request again')
    .option('--har', 'print all requests as HAR')
    .option('--reveal', 'show headers that may hold secrets')
    .action((id: string | undefined, flags: InspectFlags) => inspect(shell, id, flags));
  describe(program.command('replay <id>'), 'Send a request again that a client with an inspector has seen.', [
    'underpass replay 12',
    'underpass replay 12 --to http://127.0.0.1:3001',
  ])
    .option(...port)
    .option('--to <url>', 'another address than the upstream')
    .action((id: string, flags: ReplayFlags) => replay(shell, id, flags));
}

/** A running client's port, with the token from its file. */
interface Found {
  readonly port: number;
  readonly link: string;
  readonly call: <Input extends object>(call: InspectCall<Input>, input: Input, body?: object) => Promise<Response>;
}

const read = async <Input extends object, Answer>(
  { call }: Found,
  row: InspectCall<Input, Answer>,
  input: Input,
  body?: object,
): Promise<Answer> => (await (await call(row, input, body)).json()) as Answer;

async function inspect(shell: Shell, id: string | undefined, flags: InspectFlags): Promise<void> {
  const { io } = shell;
  const output = outputOf(shell, flags);
  const found = await findClient(io, flags.port);
  const shown = flags.reveal === true ? '1' : undefined;
  if (flags.open === true) {
    await openBrowser(io, await writeOpenFile(io, found));
    return output.result({ link: found.link }, found.link);
  }
  if (flags.har === true)
    return void io.stdout.write(`${printableJson(await (await found.call(inspectCalls.har, { secrets: shown })).text())}\n`);
  if (id === undefined) return follow(shell, found, flags.json === true);
  const of = { id: parseId(id) };
  if (flags.curl === true)
    return void io.stdout.write(await (await found.call(inspectCalls.curl, { ...of, secrets: shown })).text());
  const exchange = await read(found, inspectCalls.exchange, { ...of, reveal: shown });
  output.result(exchange, renderExchange(exchange));
}

async function replay(shell: Shell, id: string, { json, port, to }: ReplayFlags): Promise<void> {
  const found = await findClient(shell.io, port);
  const { id: replayId } = await read(found, inspectCalls.replay, { id: parseId(id) }, to === undefined ? {} : { to });
  const exchange = await whenOver(found, replayId);
  outputOf(shell, { json: json === true }).result(exchange, renderExchange(exchange));
}

/** Replays end within a minute. */
const pollMs = 100;

async function whenOver(found: Found, id: number): Promise<Exchange> {
  for (;;) {
    const exchange = await read(found, inspectCalls.exchange, { id });
    if (exchange.state !== 'open') return exchange;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

function parseId(text: string): number {
  const id = text.replace(/^#/, '');
  if (!/^\d{1,15}$/.test(id)) throw new ClientError('usage', `'${text}' is not the number of a request`);
  return Number(id);
}

async function findClient(io: Io, port: number | undefined): Promise<Found> {
  const files = (await readRunFiles(io)).filter((file) => port === undefined || file.port === port);
  const running: RunFile[] = [];
  for (const file of files) if (await isRunning(io, file)) running.push(file);
  const [first, ...others] = running;
  if (first === undefined) throw new ClientError('inspector-missing', port === undefined ? '' : `port ${port}`);
  if (others.length === 0) return callsOf(io, first);
  const ports = running.map((file) => file.port).join(', ');
  throw new ClientError('usage', `several clients run with an inspector, on ports ${ports}`, { fix: 'Choose one with --port.' });
}

const answerTimeoutMs = 10_000;

async function isRunning(io: Io, file: RunFile): Promise<boolean> {
  return callsOf(io, file)
    .call(inspectCalls.list, {})
    .then(
      (response) => response.body?.cancel().then(() => true) ?? true,
      () => false,
    );
}

const listRequests = 'Run "underpass inspect" to see the requests that are kept.';

function callsOf(io: Io, { port, token }: RunFile): Found {
  const origin = `http://127.0.0.1:${port}`;
  return {
    port,
    link: `${origin}/#token=${token}`,
    async call(row, input, body) {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const signal = row.path === inspectCalls.events.path ? {} : { signal: AbortSignal.timeout(answerTimeoutMs) };
      const sent = { method: row.method, ...(body === undefined ? {} : { body: JSON.stringify(body) }), ...signal, headers };
      const response = await io.fetch(`${origin}${inspectUrl(row, input)}`, sent).catch((cause) => {
        throw new ClientError('inspector-missing', origin, { cause });
      });
      if (response.ok) return response;
      const { error } = (await response.json().catch(() => ({ error: { text: `status ${response.status}` } }))) as InspectRefusal;
      if (response.status === 404) throw new ClientError('not-found', error.text, { fix: listRequests });
      throw new ClientError('request-refused', error.text);
    },
  };
}

/** Prints each request once: when it is over, or when its answer is a stream. Ends with the client, or by Ctrl-C. */
async function follow(shell: Shell, found: Found, json: boolean): Promise<void> {
  const { io } = shell;
  const events = await found.call(inspectCalls.events, {});
  const seen = new Set<number>();
  const list = await read(found, inspectCalls.list, {});
  const showHost = list.state.tunnels.length > 1;
  const show = (exchanges: readonly ExchangeSummary[]): void => {
    for (const exchange of exchanges) {
      if (seen.has(exchange.id) || (exchange.state === 'open' && exchange.kind === 'http')) continue;
      seen.add(exchange.id);
      io.stdout.write(json ? `${renderJson(exchange)}\n` : `${printable(renderRow(exchange, showHost)).replaceAll('\n', ' ')}\n`);
    }
  };
  show(list.exchanges);
  const stopped = new Promise<null>((resolve) => {
    io.onSignal('SIGINT', () => resolve(null));
    io.onSignal('SIGTERM', () => resolve(null));
    io.onReaderGone(() => resolve(null));
  });
  const reader = events.body!.pipeThrough(new TextDecoderStream()).getReader();
  const dataOf = createEventReader();
  for (;;) {
    const next = await Promise.race([stopped, reader.read().catch(() => ({ done: true, value: undefined }) as const)]);
    if (next === null || next.done) return void (await reader.cancel().catch(() => {}));
    for (const data of dataOf(next.value)) {
      const event = JSON.parse(data) as InspectEvent;
      if (event.kind === 'exchanges') show(event.exchanges);
    }
  }
}
