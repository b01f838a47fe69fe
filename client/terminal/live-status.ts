// Renders the live status as lines of text. Pure: from the state of every tunnel and the size and colours of the terminal.

import { formatByteRate } from '@underpass/rules/screen/metrics.ts';
import { formatSize } from '@underpass/rules/text/size.ts';
import { printable } from './output.ts';

export interface TunnelView {
  /** Name in the configuration, which the log lines show. */
  readonly name: string;
  /** The tunnel's name at the server, once an edge has sent it. */
  readonly tunnel: string | null;
  readonly state: 'connecting' | 'connected' | 'draining' | 'stopped';
  readonly edges: readonly { readonly name: string; readonly rttMs: number | null }[];
  /** Public addresses, if the edges send them. */
  readonly urls: readonly string[];
  readonly upstreams: readonly string[];
  readonly streams: number;
  /** Streams since the start. */
  readonly totalStreams: number;
  readonly rxBytes: number;
  readonly txBytes: number;
  /** Bytes per second over the last seconds. */
  readonly rxRate: number;
  readonly txRate: number;
  /** What is wrong and what to do, in one line. */
  readonly problem: string | null;
}

interface LiveStatusOptions {
  readonly columns: number;
  readonly rows: number;
  readonly color: boolean;
  /** A line about all tunnels, such as why a reload failed. Shown at the bottom even if other lines do not fit. */
  readonly note?: string | undefined;
  /** The last requests, newest last, where an inspector sees them. Those that fit are shown. */
  readonly requests?: readonly RequestView[];
}

export interface RequestView {
  readonly startedAtMs: number;
  readonly method: string;
  readonly host: string;
  /** Path and query as sent. */
  readonly target: string;
  readonly status: number | null;
  /** Null while it is open. */
  readonly durationMs: number | null;
  readonly error: { readonly code: string } | null;
}

type Style = 'plain' | 'bold' | 'dim' | 'good' | 'warn' | 'bad';
type Span = readonly [Style, string];

const escapes: Readonly<Record<Style, string>> = {
  plain: '',
  bold: '\x1b[1m',
  dim: '\x1b[2m',
  good: '\x1b[32m',
  warn: '\x1b[33m',
  bad: '\x1b[31m',
};

const stateStyles: Readonly<Record<TunnelView['state'], Style>> = {
  connecting: 'warn',
  connected: 'good',
  draining: 'warn',
  stopped: 'dim',
};

/** Renders at most rows - 1 lines, and none wider than the terminal, so that it neither scrolls nor wraps. */
export function renderLiveStatus(tunnels: readonly TunnelView[], options: LiveStatusOptions): readonly string[] {
  const hint = block('dim', '', hintText(tunnels), options.columns);
  const tunnelLines = tunnels.flatMap((tunnel) => tunnelSpans(tunnel, options.columns));
  const note = wrap(options.note ?? '', options.columns - 1).slice(0, Math.max(0, options.rows - 2));
  const room = Math.max(1, options.rows - 1 - note.length);
  const requests = requestSpans(options.requests ?? [], room - tunnelLines.length - hint.length, tunnels.length > 1);
  const lines = [...tunnelLines, ...requests, ...hint];
  const shown =
    lines.length <= room ? lines : [...lines.slice(0, room - 1), [['dim', `and ${lines.length - room + 1} more lines`] as Span]];
  return [...shown, ...note.map((line): Span[] => [['plain', line]])].map((spans) => paint(spans, options));
}

export const mostRequests = 10;

/** The newest that fit, and an empty line. The query stays out: it may hold secrets, and somebody may look on. */
function requestSpans(requests: readonly RequestView[], room: number, showHost: boolean): readonly (readonly Span[])[] {
  const count = Math.min(requests.length, mostRequests, room - 1);
  return count < 1 ? [] : [...requests.slice(-count).map((request) => requestLine(request, showHost)), []];
}

function requestLine(request: RequestView, showHost: boolean): readonly Span[] {
  const { startedAtMs, method, host, target, status, durationMs, error } = request;
  const time = new Date(startedAtMs).toTimeString().slice(0, 8);
  const took = durationMs === null ? 'open' : `${Math.round(durationMs)} ms`;
  return [
    ['dim', `  ${time}  `],
    [statusStyle(status, error !== null), String(status ?? '').padEnd(3)],
    ['dim', `  ${took.padStart(8)}  `],
    ['plain', `${method} ${showHost ? host : ''}${target.replace(/[?#].*/s, '')}`],
    ['bad', error === null ? '' : `  ${error.code}`],
  ];
}

function statusStyle(status: number | null, failed: boolean): Style {
  if (failed || (status ?? 0) >= 500) return 'bad';
  return (status ?? 0) >= 400 ? 'warn' : 'good';
}

/** What Ctrl-C does now; empty once every tunnel has stopped. */
function hintText(tunnels: readonly TunnelView[]): string {
  const states = new Set(tunnels.map(({ state }) => state));
  const running = states.size === 0 || states.has('connecting') || states.has('connected');
  if (running) return 'Ctrl-C drains and stops; twice stops at once.';
  return states.has('draining') ? 'Ctrl-C stops at once.' : '';
}

function tunnelSpans(tunnel: TunnelView, columns: number): readonly (readonly Span[])[] {
  const name = tunnel.tunnel ?? tunnel.name;
  const head: Span[] = [
    ['bold', name],
    ['plain', '  '],
    [stateStyles[tunnel.state], stateText(tunnel, columns - 1 - [...name].length - 2)],
  ];
  const plain = [...tunnel.urls, ...tunnel.upstreams].flatMap((line) => block('plain', '  ', line, columns));
  const traffic = block('dim', '  ', trafficText(tunnel), columns);
  const problem = block('bad', '  ', tunnel.problem ?? '', columns);
  return [head, ...plain, ...traffic, ...problem, []];
}

function block(style: Style, indent: string, text: string, columns: number): readonly (readonly Span[])[] {
  return wrap(text, columns - 1 - indent.length).map((line): Span[] => [[style, `${indent}${line}`]]);
}

/** Leaves out the names of the edges if they do not fit, then their number. */
function stateText({ state, edges }: TunnelView, room: number): string {
  if (state !== 'connected') return state;
  const names = edges.map(({ name, rttMs }) => (rttMs === null ? name : `${name} ${Math.round(rttMs)} ms`));
  const count = `connected to ${edges.length} ${edges.length === 1 ? 'edge' : 'edges'}`;
  return [`${count} (${names.join(', ')})`, count].find((text) => [...text].length <= room) ?? state;
}

function trafficText(tunnel: TunnelView): string {
  const rates = `rx ${formatByteRate(tunnel.rxRate)}  tx ${formatByteRate(tunnel.txRate)}`;
  const totals = `${formatSize(tunnel.rxBytes)} in, ${formatSize(tunnel.txBytes)} out`;
  return `visits ${tunnel.totalStreams}  open ${tunnel.streams}  ${rates}  (${totals})`;
}

/** The longest problem with its fix takes six lines of 40 columns. The bound keeps a text from a server from filling the screen. */
const maxWrappedLines = 8;

/** Wraps at spaces if possible. An empty text gives no line. */
function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let left = [...printable(text).replaceAll('\n', ' ').trim()];
  const room = Math.max(1, width);
  while (left.length > 0 && lines.length < maxWrappedLines) {
    const space = left.length <= room ? -1 : left.lastIndexOf(' ', room);
    const end = space > 0 ? space : room;
    lines.push(left.slice(0, end).join('').trimEnd());
    left = [...left.slice(end).join('').trimStart()];
  }
  return lines;
}

/** Cuts by visible characters, and adds the escape sequences after that. */
function paint(spans: readonly Span[], { columns, color }: LiveStatusOptions): string {
  let left = Math.max(0, columns - 1);
  let line = '';
  for (const [style, text] of spans) {
    const cut = [...printable(text).replaceAll('\n', ' ')].slice(0, left).join('');
    left -= [...cut].length;
    line += color && style !== 'plain' && cut !== '' ? `${escapes[style]}${cut}\x1b[0m` : cut;
  }
  return line;
}
