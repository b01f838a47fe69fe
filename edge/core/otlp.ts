// What an edge sends to an OpenTelemetry collector, as OTLP in JSON: figures of its tunnels, and a record for each request.
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding: 64-bit numbers are texts, ids are hexadecimal.

import {
  countOfClass,
  countsOf,
  type Figures,
  firstByteParts,
  firstByteStepsMs,
  statusClasses,
  sumOfSeconds,
} from '@underpass/rules/tunnel/figures.ts';
import { type AccessEntry, escapeText } from './access-line.ts';

/** The edge process that counts. A new start means that its counters began at zero. */
export interface OtlpSource {
  readonly region: string;
  /** Names this process. */
  readonly instance: string;
  readonly software: string;
  readonly startedAtMs: number;
}

interface OtlpTunnel {
  readonly name: string;
  readonly projectId: string;
}

export interface OtlpTunnelFigures extends OtlpTunnel {
  readonly rxBytes: number;
  readonly txBytes: number;
  readonly connections: number;
  readonly clients: number;
  readonly figures: Figures;
}

/** A request of a visitor that has its answer. */
export interface OtlpRequest extends AccessEntry {
  readonly who: string;
  readonly code: string | null;
  readonly trace: string;
  readonly tunnel: { readonly feed: { readonly name: string; readonly projectId: string } } | null;
  times(): {
    readonly edgeMs: number | null;
    readonly tunnelMs: number | null;
    readonly upstreamMs: number | null;
    readonly totalMs: number;
  };
}

type Value = { readonly stringValue: string } | { readonly intValue: string } | { readonly doubleValue: number };

interface Attribute {
  readonly key: string;
  readonly value: Value;
}

const word = (key: string, text: string): Attribute => ({ key, value: { stringValue: text } });
const whole = (key: string, count: number): Attribute => ({ key, value: { intValue: String(count) } });
const measured = (key: string, value: number): Attribute => ({ key, value: { doubleValue: value } });
const nanoseconds = (ms: number): string => `${Math.floor(ms)}000000`;

const scope = { name: 'underpass' };

const resourceOf = ({ region, instance, software }: OtlpSource) => ({
  attributes: [
    word('service.name', 'underpass-edge'),
    word('service.version', software.replace(/^.*\//, '')),
    word('service.instance.id', instance),
    word('underpass.region', region),
  ],
});

const attributesOf = ({ name, projectId }: OtlpTunnel): readonly Attribute[] => [
  word('underpass.tunnel', name),
  word('underpass.project', projectId),
];

/** AGGREGATION_TEMPORALITY_CUMULATIVE. */
const cumulative = 2;

/** The body for `/v1/metrics`. */
export function renderMetrics(source: OtlpSource, tunnels: readonly OtlpTunnelFigures[], nowMs: number): string {
  const times = { startTimeUnixNano: nanoseconds(source.startedAtMs), timeUnixNano: nanoseconds(nowMs) };
  const point = (tunnel: OtlpTunnel, asInt: number, ...more: readonly Attribute[]) => ({
    ...times,
    asInt: String(asInt),
    attributes: [...attributesOf(tunnel), ...more],
  });
  const sum = (name: string, unit: string, isMonotonic: boolean, dataPoints: readonly object[]) => ({
    ...{ name, unit },
    sum: { aggregationTemporality: cumulative, isMonotonic, dataPoints },
  });
  const answered = tunnels.filter(({ figures }) => figures.length > 0);
  const histograms = answered.map((tunnel) => ({
    ...times,
    attributes: attributesOf(tunnel),
    ...renderHistogram(tunnel.figures),
  }));
  const metrics = [
    sum(
      'underpass.tunnel.requests',
      '{request}',
      true,
      answered.flatMap((tunnel) =>
        statusClasses.map((name) => point(tunnel, countOfClass(tunnel.figures, name), word('underpass.status_class', name))),
      ),
    ),
    {
      ...{ name: 'underpass.tunnel.first_byte', unit: 's' },
      histogram: { aggregationTemporality: cumulative, dataPoints: histograms },
    },
    sum(
      'underpass.tunnel.io',
      'By',
      true,
      tunnels.flatMap((tunnel) => [
        point(tunnel, tunnel.rxBytes, word('network.io.direction', 'receive')),
        point(tunnel, tunnel.txBytes, word('network.io.direction', 'transmit')),
      ]),
    ),
    sum(
      'underpass.tunnel.connections',
      '{connection}',
      true,
      tunnels.map((tunnel) => point(tunnel, tunnel.connections)),
    ),
    sum(
      'underpass.tunnel.clients',
      '{client}',
      false,
      tunnels.map((tunnel) => point(tunnel, tunnel.clients)),
    ),
  ];
  return JSON.stringify({ resourceMetrics: [{ resource: resourceOf(source), scopeMetrics: [{ scope, metrics }] }] });
}

function renderHistogram(figures: Figures) {
  const counts = countsOf(figures, firstByteParts[0]);
  return {
    count: String(counts.reduce((all, count) => all + count, 0)),
    sum: sumOfSeconds(figures),
    bucketCounts: counts.map(String),
    explicitBounds: firstByteStepsMs.map((ms) => ms / 1_000),
  };
}

/** Characters of one text: a record takes some 6 kB at most. */
const most = { target: 2_048, other: 700, short: 300 };

/** SEVERITY_NUMBER_INFO and WARN: the edge refused, or the upstream failed. */
const severityOf = (status: number) =>
  status >= 500 ? { severityNumber: 13, severityText: 'WARN' } : { severityNumber: 9, severityText: 'INFO' };

/** One record. It is rendered when the request has its answer, so that what waits for the collector has a known size. */
export function renderRecord(seen: OtlpRequest): string {
  const { method, host, status, tunnel, trace } = seen;
  const target = escapeText(seen.target, most.target);
  const [path = '', query] = target.split(/\?(.*)/s);
  const { edgeMs, tunnelMs, upstreamMs, totalMs } = seen.times();
  const words: readonly (readonly [string, string])[] = [
    ['client.address', seen.address],
    ['http.request.method', escapeText(method, most.short)],
    ['server.address', escapeText(host, most.short)],
    ['url.path', path],
    ['url.query', query ?? ''],
    ['network.protocol.version', seen.version],
    ['user_agent.original', escapeText(seen.agent, most.other)],
    ['http.request.header.referer', escapeText(seen.referer, most.other)],
    ['user.name', escapeText(seen.who, most.short)],
    ['error.type', seen.code ?? ''],
  ];
  const times: readonly (readonly [string, number | null])[] = [
    ['underpass.edge_ms', edgeMs],
    ['underpass.tunnel_ms', tunnelMs],
    ['underpass.upstream_ms', upstreamMs],
    ['underpass.total_ms', totalMs],
  ];
  const attributes = [
    ...(tunnel === null ? [] : attributesOf(tunnel.feed)),
    ...words.filter(([, text]) => text !== '').map(([key, text]) => word(key, text)),
    whole('http.response.status_code', status),
    whole('http.response.body.size', seen.bytes),
    ...times.flatMap(([key, ms]) => (ms === null ? [] : [measured(key, ms)])),
  ];
  return JSON.stringify({
    timeUnixNano: nanoseconds(seen.atMs),
    ...severityOf(status),
    eventName: 'underpass.request',
    body: { stringValue: `${escapeText(method, most.short)} ${escapeText(host, most.short)}${path} ${status}` },
    attributes,
    ...(trace === '' ? {} : { traceId: trace }),
  });
}

/** The body for `/v1/logs`, of records that renderRecord has rendered. */
export function renderLogs(source: OtlpSource, records: readonly string[]): string {
  const resource = JSON.stringify(resourceOf(source));
  return `{"resourceLogs":[{"resource":${resource},"scopeLogs":[{"scope":${JSON.stringify(scope)},"logRecords":[${records.join()}]}]}]}`;
}
