// createControl: the API and everything behind it, from deps alone. No sockets: server/ brings requests and edges.

import { limits, rateLimits } from '@underpass/rules/limits.ts';
import type { Registry } from 'prom-client';
import type { Handlers } from './access/call.ts';
import { accountCalls } from './account/calls.ts';
import { type Connection, createApp } from './api/app.ts';
import { createControlMetrics } from './api/metrics.ts';
import { renderOpenApi } from './api/openapi.ts';
import { auditCalls } from './audit/calls.ts';
import { createBotCheck } from './auth/bot-check.ts';
import { authCalls } from './auth/calls.ts';
import type { ControlDeps } from './deps.ts';
import { deviceCalls } from './device/calls.ts';
import { domainCalls } from './domain/calls.ts';
import { createDomainLoss } from './domain/ownership.ts';
import { groupCalls } from './group/calls.ts';
import { cookieNames } from './http/cookie.ts';
import { invitationCalls } from './invitation/calls.ts';
import { createJobQueue } from './job/queue.ts';
import { createJobHandlers } from './jobs.ts';
import { createLimiter } from './limit/limiter.ts';
import { createTurns } from './limit/turns.ts';
import { reportAbuse } from './operator/abuse-reports.ts';
import { operatorCalls } from './operator/calls.ts';
import { createOperatorDesk, type OperatorDesk } from './operator/desk.ts';
import type { Parts } from './parts.ts';
import { projectCalls } from './project/calls.ts';
import { registrationCalls } from './registration/calls.ts';
import { createMetaCalls } from './site/calls.ts';
import { createReleases } from './site/releases.ts';
import { sweepStore } from './store/sweep.ts';
import { tokenCalls } from './token/calls.ts';
import { tunnelCalls } from './tunnel/calls.ts';
import { createEventStreams, type EventStreams } from './tunnel/events.ts';

export interface Control {
  fetch(request: Request, connection?: Connection): Promise<Response>;
  readonly operator: OperatorDesk;
  /** For the daily re-check of domains (dns/recheck.ts). */
  readonly onDomainLost: ReturnType<typeof createDomainLoss>;
  readonly metrics: Registry;
  /** Begins the work that no request asks for: mails, sweeping. */
  start(): void;
  /** Runs every job that is due now. */
  settle(): Promise<void>;
  /** From now on /readyz says no, so that a balancer looks elsewhere. */
  beginStop(): void;
  /** Ends live views and waits for the job at hand. The store stays open: who opened it closes it. */
  close(): Promise<void>;
}

const sweepEveryMs = 10 * 60_000;

const collectHandlers = (deps: ControlDeps, events: EventStreams): Handlers => ({
  ...authCalls,
  ...accountCalls,
  ...registrationCalls,
  ...projectCalls,
  ...invitationCalls,
  ...tokenCalls,
  ...deviceCalls,
  ...domainCalls,
  ...tunnelCalls,
  ...events.calls,
  ...groupCalls,
  ...auditCalls,
  ...operatorCalls,
  ...createMetaCalls(createReleases(deps.settings.releases)),
  reportAbuse,
});

// A name server that never answers holds two of the resolver's 32 places for 5 s. A tunnel's page asks for all its domains.
const dnsAtOnce = 4;
const dnsWaiting = 2 * limits.ingressDomainsPerTunnel;

const createParts = (deps: ControlDeps): Parts => ({
  ...deps,
  botCheck: deps.botCheck ?? createBotCheck(deps),
  cookies: cookieNames(deps.settings.origin),
  jobs: createJobQueue({ ...deps, handlers: createJobHandlers(deps) }),
  limiter: deps.limiter ?? createLimiter(deps.store),
  dnsTurns: createTurns(dnsAtOnce, dnsWaiting, rateLimits.dnsLookupPerUser.sentence),
});

export const createControl = (deps: ControlDeps): Control => {
  const parts = createParts(deps);
  const events = createEventStreams(deps.bus);
  const metrics = createControlMetrics(deps.store);
  let isStopping = false;
  let sweeper: NodeJS.Timeout | undefined;
  const sweep = (): void => {
    sweepStore(deps.store, deps.clock()).catch((error) => deps.log.error({ err: error }, 'sweeping failed'));
  };
  return {
    fetch: createApp({
      parts,
      handlers: collectHandlers(deps, events),
      metrics,
      openApi: renderOpenApi(deps.settings, parts.cookies.session),
      isStopping: () => isStopping,
    }),
    operator: createOperatorDesk(parts),
    onDomainLost: createDomainLoss(parts),
    metrics: metrics.registry,
    start: () => {
      parts.jobs.start();
      sweeper = setInterval(sweep, sweepEveryMs);
    },
    settle: () => parts.jobs.drain(),
    beginStop: () => {
      isStopping = true;
      events.close();
    },
    close: async () => {
      isStopping = true;
      clearInterval(sweeper);
      events.close();
      await parts.jobs.stop();
    },
  };
};
