// What visitors' connections add to the metrics of this process.

import type { UpstreamFailure, VisitorError } from '../core/visitor-error.ts';

export class VisitorCounters {
  readonly errors: Map<VisitorError, number> = new Map();
  /** Responses by hundreds of their status; index 0 is unused. */
  readonly responses: number[] = [0, 0, 0, 0, 0, 0];
  /** Connections that ended before they could be routed. */
  unrouted = 0;

  /** Counts by congestion control, where it can be read. */
  readonly accepted: Map<string, number> = new Map();

  countAccepted(control: string | null): void {
    if (control !== null) this.accepted.set(control, (this.accepted.get(control) ?? 0) + 1);
  }

  countResponse(status: number): void {
    const hundreds = (status / 100) | 0;
    this.responses[hundreds] = (this.responses[hundreds] ?? 0) + 1;
  }

  countError(code: VisitorError): void {
    this.errors.set(code, (this.errors.get(code) ?? 0) + 1);
  }

  /** Counts an answer that was cut after it had begun: no page can say so, and the client is lost all the same. */
  countBrokenOff(failure: UpstreamFailure): void {
    if (failure === 'carrier-lost') this.countError('UNDERPASS_CLIENT_LOST');
  }
}
