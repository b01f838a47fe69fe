// The figures of a project's tunnels as a scrape of Prometheus reads them (docs/figures.md): counters since a tunnel's first traffic,
// from the store, so that every control process says the same, and a restart of an edge or of control resets none.

import {
  countOfClass,
  countsOf,
  type Figures,
  firstByteStepsMs,
  parseFigures,
  statusClasses,
  sumOfSeconds,
} from '@underpass/rules/tunnel/figures.ts';
import type { FeedPort } from '../edges/feed/port.ts';
import type { Store } from '../platform/store/store.ts';
import type { CallContext } from '../request/caller/call.ts';

export interface FiguresDeps {
  readonly store: Pick<Store, 'db'>;
  readonly feed: Pick<FeedPort, 'clientCount'>;
}

interface TunnelFigures {
  readonly name: string;
  readonly region: string;
  readonly rxBytes: number;
  readonly txBytes: number;
  readonly connections: number;
  readonly clients: number;
  readonly figures: Figures;
}

/** Upper ends of the buckets: every step that is 1, 2 or 5 times a power of ten, which are fewer series to keep. */
const bucketsMs: readonly number[] = [
  ...firstByteStepsMs.filter((ms) => ms >= 1 && /^[125]0*$/.test(String(ms))),
  30_000,
  60_000,
];

/** One value with its labels beside tunnel and region, and what its name ends with. */
interface Sample {
  readonly end?: string;
  readonly labels?: string;
  readonly value: number;
}

interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** No sample for a tunnel that has none of it: an ingress tunnel has no answers. */
  readonly samples: (tunnel: TunnelFigures) => readonly Sample[];
}

function firstByteSamples({ figures }: TunnelFigures): readonly Sample[] {
  if (figures.length === 0) return [];
  const counts = countsOf(figures, 'total');
  const upTo = (ms: number): number =>
    counts.reduce((sum, count, at) => ((firstByteStepsMs[at] ?? Infinity) <= ms ? sum + count : sum), 0);
  const bucket = (ms: number, le: string): Sample => ({ end: '_bucket', labels: `,le="${le}"`, value: upTo(ms) });
  const all = upTo(Infinity);
  return [
    ...bucketsMs.map((ms) => bucket(ms, String(ms / 1_000))),
    { ...bucket(Infinity, '+Inf') },
    { end: '_sum', value: sumOfSeconds(figures) },
    { end: '_count', value: all },
  ];
}

const families: readonly Family[] = [
  {
    name: 'underpass_tunnel_requests_total',
    type: 'counter',
    help: 'Requests that were answered, by class of status',
    samples: ({ figures }) =>
      figures.length === 0
        ? []
        : statusClasses.map((name) => ({ labels: `,status="${name}"`, value: countOfClass(figures, name) })),
  },
  {
    name: 'underpass_tunnel_first_byte_seconds',
    type: 'histogram',
    help: "Time from a request at the edge to the first byte of the upstream's answer",
    samples: firstByteSamples,
  },
  {
    name: 'underpass_tunnel_bytes_total',
    type: 'counter',
    help: 'Bytes from visitors (received) and to visitors (sent)',
    samples: ({ rxBytes, txBytes }) => [
      { labels: ',direction="received"', value: rxBytes },
      { labels: ',direction="sent"', value: txBytes },
    ],
  },
  {
    name: 'underpass_tunnel_connections_total',
    type: 'counter',
    help: 'TCP connections of visitors',
    samples: ({ connections }) => [{ value: connections }],
  },
  {
    name: 'underpass_tunnel_clients',
    type: 'gauge',
    help: 'Clients that are connected now',
    samples: ({ clients }) => [{ value: clients }],
  },
];

const escapeLabel = (text: string): string => text.replace(/[\\"\n]/g, (found) => (found === '\n' ? '\\n' : `\\${found}`));

/** Renders the text format of Prometheus, version 0.0.4. */
function renderFamilies(tunnels: readonly TunnelFigures[]): string {
  const lines = families.flatMap(({ name, type, help, samples }) => {
    const values = tunnels.flatMap((tunnel) => {
      const own = `tunnel="${escapeLabel(tunnel.name)}",region="${escapeLabel(tunnel.region)}"`;
      return samples(tunnel).map(({ end = '', labels = '', value }) => `${name}${end}{${own}${labels}} ${value}`);
    });
    return values.length === 0 ? [] : [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...values];
  });
  return lines.map((line) => `${line}\n`).join('');
}

async function readTunnels({ store: { db }, feed }: FiguresDeps, projectId: string): Promise<readonly TunnelFigures[]> {
  const rows = await db
    .selectFrom('tunnel_totals as totals')
    .innerJoin('tunnels', 'tunnels.id', 'totals.tunnel_id')
    .select(['tunnels.id', 'tunnels.name', 'tunnels.region', 'rx_bytes', 'tx_bytes', 'connections', 'figures'])
    .where('tunnels.project_id', '=', projectId)
    .orderBy('tunnels.name')
    .execute();
  return rows.map((row) => ({
    name: row.name,
    region: row.region,
    rxBytes: row.rx_bytes,
    txBytes: row.tx_bytes,
    connections: row.connections,
    clients: feed.clientCount(row.id),
    figures: parseFigures(row.figures),
  }));
}

export async function getMetrics(deps: FiguresDeps, { membership }: CallContext<'getMetrics'>): Promise<Response> {
  const text = renderFamilies(await readTunnels(deps, membership.id));
  return new Response(text, { headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' } });
}
