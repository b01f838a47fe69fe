// Sends figures and requests to an OpenTelemetry collector. No request of a visitor waits for it: what the collector does not take
// within the bounds is dropped and counted.

import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import {
  type OtlpRequest,
  type OtlpSource,
  type OtlpTunnelFigures,
  renderLogs,
  renderMetrics,
  renderRecord,
} from '../core/otlp.ts';

/** Where an edge exports to, and what. */
export interface OtlpOptions {
  /** The base, to which `/v1/…` is appended. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Records of requests too, which have visitors' addresses. */
  readonly requests: boolean;
}

interface OtlpDeps {
  readonly options: OtlpOptions;
  readonly source: OtlpSource;
  /** Tunnels that had traffic. */
  readonly tunnels: () => Iterable<OtlpTunnelFigures>;
  readonly log: Logger;
}

const metricsEveryMs = 60_000;
const recordsEveryMs = 1_000;
/** Characters of records that wait: some 8,000 of them. */
const mostWaitingChars = 8 * 1024 * 1024;
/** Characters of one body: collectors take 20 MiB by default, and proxies in front of them a megabyte. */
const bodyChars = 512 * 1024;
/** Tunnels of one body: some 4 kB each. */
const tunnelsAtOnce = 100;
const answerMs = 10_000;
/** A collector that fails is asked again after so long. Records wait until then, up to their bound. */
const retryMs = 5_000;
const mostRetryMs = 60_000;
/** How long a stop waits for the last records. */
const flushMs = 2_000;
/** Later is better than lost for these (OTLP, retryable response codes). */
const retryable = new Set([429, 502, 503, 504]);

export class OtlpExport {
  /** Records that the collector did not take. */
  dropped = 0;
  readonly #deps: OtlpDeps;
  readonly #timers: readonly NodeJS.Timeout[];
  readonly #closing = new AbortController();
  #waiting: string[] = [];
  #waitingChars = 0;
  #sendingRecords: Promise<void> | null = null;
  #sendingMetrics: Promise<void> | null = null;
  #pausedUntilMs = 0;
  #failures = 0;

  constructor(deps: OtlpDeps) {
    this.#deps = deps;
    this.#timers = [
      setInterval(() => void this.#sendRecords(), recordsEveryMs).unref(),
      setInterval(() => void this.#sendMetrics(), metricsEveryMs).unref(),
    ];
  }

  /** Takes a request that has its answer. It never waits. */
  readonly take = (seen: OtlpRequest): void => {
    const record = renderRecord(seen);
    if (this.#waitingChars + record.length > mostWaitingChars) {
      this.dropped++;
      return;
    }
    this.#waiting.push(record);
    this.#waitingChars += record.length;
  };

  /** Sends what waits, and the last figures, within two seconds. */
  async flush(): Promise<void> {
    const over = new AbortController();
    this.#pausedUntilMs = 0;
    const all = Promise.all([this.#sendRecords(), this.#sendMetrics()]);
    await Promise.race([all, pause(flushMs, undefined, { signal: over.signal }).catch(() => {})]);
    over.abort();
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#closing.abort();
  }

  #sendRecords(): Promise<void> {
    this.#sendingRecords ??= this.#drainRecords().finally(() => {
      this.#sendingRecords = null;
    });
    return this.#sendingRecords;
  }

  async #drainRecords(): Promise<void> {
    while (this.#waiting.length > 0 && performance.now() >= this.#pausedUntilMs) {
      const count = countWithin(this.#waiting, bodyChars);
      const batch = this.#waiting.slice(0, count);
      const outcome = await this.#send('/v1/logs', renderLogs(this.#deps.source, batch));
      if (outcome === 'later') return;
      if (outcome === 'refused') this.dropped += count;
      this.#waiting.splice(0, count);
      this.#waitingChars -= batch.reduce((sum, { length }) => sum + length, 0);
    }
  }

  #sendMetrics(): Promise<void> {
    this.#sendingMetrics ??= this.#postMetrics().finally(() => {
      this.#sendingMetrics = null;
    });
    return this.#sendingMetrics;
  }

  /** Counters are cumulative: those that are lost come again in a minute. */
  async #postMetrics(): Promise<void> {
    const tunnels = [...this.#deps.tunnels()];
    for (let at = 0; at < tunnels.length; at += tunnelsAtOnce) {
      const body = renderMetrics(this.#deps.source, tunnels.slice(at, at + tunnelsAtOnce), Date.now());
      if ((await this.#send('/v1/metrics', body)) === 'later') return;
    }
  }

  async #send(path: string, body: string): Promise<'taken' | 'refused' | 'later'> {
    const { url, headers } = this.#deps.options;
    try {
      const response = await fetch(`${url}${path}`, {
        ...{ method: 'POST', body, redirect: 'error' },
        headers: { ...headers, 'content-type': 'application/json' },
        signal: AbortSignal.any([this.#closing.signal, AbortSignal.timeout(answerMs)]),
      });
      await response.body?.cancel();
      if (response.ok) this.#failures = 0;
      else
        return this.#failed(`answered ${response.status}`, retryable.has(response.status), response.headers.get('retry-after'));
      return 'taken';
    } catch (error) {
      const { message, cause } = error as Error;
      return this.#failed(cause instanceof Error ? cause.message : message, true, null);
    }
  }

  #failed(why: string, isRetryable: boolean, retryAfter: string | null): 'refused' | 'later' {
    if (this.#closing.signal.aborted) return 'later';
    // Once for each outage.
    if (this.#failures++ === 0) this.#deps.log.error({ error: why }, 'the OpenTelemetry collector takes nothing');
    if (!isRetryable) return 'refused';
    const backOffMs = Math.min(mostRetryMs, retryMs * 2 ** Math.min(this.#failures - 1, 8));
    const askedMs = /^\d{1,4}$/.test(retryAfter ?? '') ? Number(retryAfter) * 1_000 : 0;
    this.#pausedUntilMs = performance.now() + Math.max(backOffMs, Math.min(askedMs, mostRetryMs));
    return 'later';
  }
}

/** Counts the texts that fit; one at least. */
function countWithin(texts: readonly string[], mostChars: number): number {
  let [count, chars] = [0, 0];
  while (count < texts.length && (count === 0 || chars + texts[count]!.length <= mostChars)) chars += texts[count++]!.length;
  return count;
}
