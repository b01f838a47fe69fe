// Prometheus metrics of certificates: when they end, what has none, and how orders went.

import type { FeedCertificate } from '@underpass/wire/feed.ts';
import { Counter, Gauge, type Registry } from 'prom-client';
import { unlessOutage } from '../store/outage.ts';
import type { Store } from '../store/store.ts';
import { readEnds, readOwnNames, readTunnelNames } from './certificate-rows.ts';
import { isWildcard, type WantedName } from './core/wanted.ts';
import { keepFirst } from './kept.ts';

export type OrderOutcome = 'issued' | 'failed';

export interface CertificateMetrics {
  observe(wanted: Pick<WantedName, 'name' | 'projectId'>, outcome: OrderOutcome): void;
}

export interface CertificateMetricsDeps {
  readonly registry: Registry;
  readonly store: Store;
  readonly clock: () => number;
  readonly givenCertificates: () => readonly FeedCertificate[];
}

/** `host`: what clients of a region dial, and the dashboard's. `wildcard`: its generated names. `tunnel`: a user's name. */
const kindOf = ({ name, projectId }: Pick<WantedName, 'name' | 'projectId'>): string => {
  if (projectId !== '') return 'tunnel';
  return isWildcard(name) ? 'wildcard' : 'host';
};

interface Line {
  readonly region: string;
  readonly kind: string;
  soonestMs: number;
  missing: number;
}

/** A region with a hundred thousand names is not read again at every scrape. */
const keptMs = 60_000;

const readLines = async ({ store, clock, givenCertificates }: CertificateMetricsDeps): Promise<readonly Line[]> => {
  const endOf = await readEnds(store.db, givenCertificates());
  const lines = new Map<string, Line>();
  for (const wanted of [...(await readOwnNames(store.db)), ...(await readTunnelNames(store.db))]) {
    const { region } = wanted;
    const kind = kindOf(wanted);
    const line = lines.get(`${region} ${kind}`) ?? { region, kind, soonestMs: Number.POSITIVE_INFINITY, missing: 0 };
    const end = endOf(wanted.name);
    if (end <= clock()) line.missing += 1;
    if (end > 0) line.soonestMs = Math.min(line.soonestMs, end);
    lines.set(`${region} ${kind}`, line);
  }
  return [...lines.values()];
};

const createReader = (deps: CertificateMetricsDeps): (() => Promise<readonly Line[]>) => {
  const lines = keepFirst(() => readLines(deps));
  let readAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (deps.clock() - readAt >= keptMs) {
      readAt = deps.clock();
      lines.forget();
    }
    return lines.get();
  };
};

export const addCertificateMetrics = (deps: CertificateMetricsDeps): CertificateMetrics => {
  const common = { registers: [deps.registry], labelNames: ['region', 'kind'] as const };
  const lines = createReader(deps);
  new Gauge({
    ...common,
    name: 'underpass_certificate_expiry_timestamp_seconds',
    help: 'When the first of the certificates in use ends, Unix time',
    async collect() {
      this.reset();
      await unlessOutage(async () => {
        for (const { region, kind, soonestMs } of await lines())
          if (Number.isFinite(soonestMs)) this.set({ region, kind }, soonestMs / 1000);
      });
    },
  });
  new Gauge({
    ...common,
    name: 'underpass_certificates_missing',
    help: 'Names that should be served with TLS and have no certificate that is valid',
    async collect() {
      this.reset();
      await unlessOutage(async () => {
        for (const { region, kind, missing } of await lines()) this.set({ region, kind }, missing);
      });
    },
  });
  const orders = new Counter({
    registers: [deps.registry],
    name: 'underpass_certificate_orders_total',
    help: 'Certificates asked of the authority',
    labelNames: ['kind', 'outcome'],
  });
  return { observe: (wanted, outcome) => orders.inc({ kind: kindOf(wanted), outcome }) };
};
