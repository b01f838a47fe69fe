// Prometheus metrics of certificates: when they end, how many names have none, and how orders went.

import { isWildcardName } from '@underpass/rules/names/hostname.ts';
import type { FeedCertificate } from '@underpass/wire/feed/feed.ts';
import { Counter, type Registry } from 'prom-client';
import type { PlatformDeps } from '../../platform/deps.ts';
import { addGauge } from '../../platform/store/gauge.ts';
import { readEnds, readOwnNames, readTunnelNames } from './certificate-rows.ts';
import type { WantedName } from './core/wanted.ts';
import { keepFirst } from './kept.ts';

export type OrderOutcome = 'issued' | 'failed';

interface CertificateMetrics {
  observe(wanted: Pick<WantedName, 'name' | 'projectId'>, outcome: OrderOutcome): void;
}

interface CertificateMetricsDeps extends Pick<PlatformDeps, 'store' | 'clock'> {
  readonly registry: Registry;
  readonly givenCertificates: () => readonly FeedCertificate[];
  /**
   * A wildcard of ours that the authority cannot issue is not missing, because each name below it gets a certificate of its own;
   * nor is one of a user, who has to give one. Left out where there is no authority, so that files must cover every name.
   */
  readonly canIssue?: (wanted: WantedName) => boolean;
}

/** `host`: a name that clients of a region dial, or the dashboard's. `wildcard`: for generated names. `tunnel`: a user's name. */
function kindOf({ name, projectId }: Pick<WantedName, 'name' | 'projectId'>): string {
  if (projectId !== '') return 'tunnel';
  return isWildcardName(name) ? 'wildcard' : 'host';
}

interface Line {
  readonly region: string;
  readonly kind: string;
  soonestMs: number;
  missing: number;
}

/** A region may have a hundred thousand names: scrapes within a minute share one reading. */
const keptMs = 60_000;

async function readLines({ store, clock, givenCertificates, canIssue }: CertificateMetricsDeps): Promise<readonly Line[]> {
  const endOf = await readEnds(store.db, givenCertificates());
  const lines = new Map<string, Line>();
  for (const wanted of [...(await readOwnNames(store.db)), ...(await readTunnelNames(store.db, clock()))]) {
    const { region } = wanted;
    const kind = kindOf(wanted);
    const line = lines.get(`${region} ${kind}`) ?? { region, kind, soonestMs: Number.POSITIVE_INFINITY, missing: 0 };
    const end = endOf(wanted.name);
    if (end <= clock() && canIssue?.(wanted) !== false) line.missing += 1;
    if (end > 0) line.soonestMs = Math.min(line.soonestMs, end);
    lines.set(`${region} ${kind}`, line);
  }
  return [...lines.values()];
}

function createReader(deps: CertificateMetricsDeps): () => Promise<readonly Line[]> {
  const lines = keepFirst(() => readLines(deps));
  let readAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (deps.clock() - readAt >= keptMs) {
      readAt = deps.clock();
      lines.forget();
    }
    return lines.get();
  };
}

export function addCertificateMetrics(deps: CertificateMetricsDeps): CertificateMetrics {
  const lines = createReader(deps);
  const labels = ['region', 'kind'] as const;
  const expiry = 'underpass_certificate_expiry_timestamp_seconds';
  addGauge(deps.registry, { name: expiry, help: 'Earliest end of a certificate in use, Unix time', labels }, async () =>
    (await lines()).flatMap(({ region, kind, soonestMs }) =>
      Number.isFinite(soonestMs) ? [[{ region, kind }, soonestMs / 1000]] : [],
    ),
  );
  const missing = 'underpass_certificates_missing';
  addGauge(deps.registry, { name: missing, help: 'Names to serve with TLS that have no valid certificate', labels }, async () =>
    (await lines()).map((line) => [{ region: line.region, kind: line.kind }, line.missing]),
  );
  const orders = new Counter({
    registers: [deps.registry],
    name: 'underpass_certificate_orders_total',
    help: 'Certificate orders sent to the authority',
    labelNames: ['kind', 'outcome'],
  });
  return { observe: (wanted, outcome) => orders.inc({ kind: kindOf(wanted), outcome }) };
}
