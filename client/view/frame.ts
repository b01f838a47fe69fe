// The live status as lines of text: pure, from the state of every tunnel, the width and the colours allowed.
import { formatByteRate } from '@underpass/rules/metrics.ts';
import { printable } from '../output.ts';

export interface TunnelView {
  /** Of the plan: what the lines of the log are told apart by. */
  readonly name: string;
  /** What the edges call it, once one is connected. */
  readonly tunnel: string | null;
  readonly state: 'connecting' | 'connected' | 'draining' | 'stopped';
  readonly edges: readonly { readonly name: string; readonly rttMs: number | null }[];
  /** Public addresses, where the edges say them. */
  readonly urls: readonly string[];
  readonly upstreams: readonly string[];
  readonly streams: number;
  /** Since the start. */
  readonly totalStreams: number;
  readonly rxBytes: number;
  readonly txBytes: number;
  /** Over the last seconds. */
  readonly rxRate: number;
  readonly txRate: number;
  /** What is wrong and what to do, one line. */
  readonly problem: string | null;
}

export interface FrameOptions {
  readonly columns: number;
  readonly rows: number;
  readonly color: boolean;
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

/** Never more lines than rows less one, never wider than columns: the terminal neither scrolls nor wraps. */
export function renderFrame(tunnels: readonly TunnelView[], options: FrameOptions): readonly string[] {
  const lines = [...tunnels.flatMap(tunnelSpans), [['dim', 'Ctrl-C drains and stops; twice stops at once.'] as Span]];
  const room = Math.max(1, options.rows - 1);
  const shown =
    lines.length <= room ? lines : [...lines.slice(0, room - 1), [['dim', `and ${lines.length - room + 1} more lines`] as Span]];
  return shown.map((spans) => paint(spans, options));
}

function tunnelSpans(tunnel: TunnelView): readonly (readonly Span[])[] {
  const head: Span[] = [
    ['bold', tunnel.tunnel ?? tunnel.name],
    ['plain', '  '],
    [stateStyles[tunnel.state], stateText(tunnel)],
  ];
  const urls = tunnel.urls.map((url): Span[] => [['plain', `  ${url}`]]);
  const upstreams = tunnel.upstreams.map((line): Span[] => [['plain', `  ${line}`]]);
  const problem: Span[][] = tunnel.problem === null ? [] : [[['bad', `  ${tunnel.problem}`]]];
  return [head, ...urls, ...upstreams, [['dim', `  ${trafficText(tunnel)}`]], ...problem, []];
}

function stateText({ state, edges }: TunnelView): string {
  if (state !== 'connected') return state;
  const names = edges.map(({ name, rttMs }) => (rttMs === null ? name : `${name} ${Math.round(rttMs)} ms`));
  return `connected to ${edges.length} ${edges.length === 1 ? 'edge' : 'edges'} (${names.join(', ')})`;
}

function trafficText(tunnel: TunnelView): string {
  const rates = `rx ${formatByteRate(tunnel.rxRate)}  tx ${formatByteRate(tunnel.txRate)}`;
  const totals = `${formatBytes(tunnel.rxBytes)} in, ${formatBytes(tunnel.txBytes)} out`;
  return `requests ${tunnel.totalStreams}  open ${tunnel.streams}  ${rates}  (${totals})`;
}

export function formatBytes(bytes: number): string {
  return formatByteRate(bytes).replace('/s', '');
}

/** Cuts by characters on screen; the escape sequences come after the cut. */
function paint(spans: readonly Span[], { columns, color }: FrameOptions): string {
  let left = Math.max(0, columns - 1);
  let line = '';
  for (const [style, text] of spans) {
    const cut = [...printable(text).replaceAll('\n', ' ')].slice(0, left).join('');
    left -= [...cut].length;
    line += color && style !== 'plain' && cut !== '' ? `${escapes[style]}${cut}\x1b[0m` : cut;
  }
  return line;
}
