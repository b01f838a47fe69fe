// createControl: the API and everything that it needs, made only from deps. It opens no sockets: server/ brings requests and edges.

import type { Registry } from 'prom-client';
import { alertHandlers } from './alerts/calls.ts';
import { createAlertPasses } from './alerts/passes.ts';
import { webhookHandlers } from './alerts/webhook/calls.ts';
import { createWebhookWork } from './alerts/webhook/deliver.ts';
import { type Connection, createApp } from './api/app.ts';
import { createControlMetrics } from './api/metrics.ts';
import { renderOpenApi } from './api/openapi.ts';
import { type AreaDeps, createAreaDeps } from './area-deps.ts';
import { tellUsage } from './billing/billing.ts';
import type { ControlDeps } from './deps.ts';
import { createRecheck } from './edges/dns/recheck.ts';
import { createOperatorCalls } from './operator/calls.ts';
import { createOperatorDesk, type OperatorDesk } from './operator/desk.ts';
import { addOtherRoutes, mailboxOf } from './other-routes.ts';
import { overviewHandlers } from './overview/overview.ts';
import { peopleHandlers } from './people/calls.ts';
import { type BackgroundWork, startBackground } from './platform/job/background.ts';
import { createWithLease } from './platform/store/lease.ts';
import { bindHandlers, type Handlers } from './request/caller/call.ts';
import { createSiteCalls } from './site/calls.ts';
import { createReleases } from './site/releases.ts';
import { sweepStore } from './sweep/sweep.ts';
import { tunnelsHandlers } from './tunnels/calls.ts';
import { darkenMissed } from './tunnels/domain/blocked-names.ts';
import { createDomainLoss } from './tunnels/domain/ownership.ts';
import { createEventStreams, type EventStreams } from './tunnels/tunnel/events.ts';
import { expireTunnels } from './tunnels/tunnel/expiry.ts';
import { createHostRecheck } from './tunnels/tunnel/host-recheck.ts';
import { usageHandlers } from './usage/calls.ts';
import { holdToTrafficLimits } from './usage/traffic-limit.ts';
import { policyHandlers } from './visitors/policies/calls.ts';
import { programHandlers } from './visitors/programs/program-calls.ts';

export interface Control {
  fetch(request: Request, connection?: Connection): Promise<Response>;
  readonly operator: OperatorDesk;
  readonly onDomainLost: ReturnType<typeof createDomainLoss>;
  readonly metrics: Registry;
  /** The last step of a start: begins the background work, `more` included, and /readyz may answer 200 from now on. */
  start(more?: readonly BackgroundWork[]): void;
  /** Runs every job that is due now. */
  settle(): Promise<void>;
  /** Answers 503 on /readyz from now on, so that a load balancer sends requests elsewhere. */
  beginStop(): void;
  /** Ends live views and waits for the running job. Leaves the store open: its opener closes it. */
  close(): Promise<void>;
}

const minuteMs = 60_000;

function createHandlers(deps: AreaDeps, events: EventStreams): Handlers {
  const { version, origin, operatorIdentity: operator, releases } = deps.settings;
  return {
    ...bindHandlers(deps, {
      ...{ ...peopleHandlers, ...tunnelsHandlers, ...policyHandlers, ...programHandlers },
      ...{ ...overviewHandlers, ...alertHandlers, ...webhookHandlers, ...usageHandlers },
    }),
    ...events.calls,
    ...createOperatorCalls(deps),
    ...createSiteCalls({ version, origin, operator, ...mailboxOf(deps) }, createReleases(releases)),
  };
}

async function darkenAgain({ store, feed }: ControlDeps): Promise<void> {
  const tunnelIds = await darkenMissed(store);
  if (tunnelIds.length > 0) feed.tunnelsChanged(tunnelIds);
}

/** Everything that control repeats by the clock. A domain is due once a day; a pass looks for those that are. */
function createBackground(deps: AreaDeps, onLost: Control['onDomainLost']): readonly BackgroundWork[] {
  const { store, clock, log, usageWebhook } = deps;
  const withLease = createWithLease(store, clock);
  const recheck = createRecheck({ ...deps, withLease, onLost });
  return [
    { name: 'sweeping', everyMs: 10 * minuteMs, atStart: true, run: () => sweepStore(store, clock(), log) },
    { name: 'quick tunnels: expiring', everyMs: minuteMs, atStart: true, run: () => expireTunnels(deps) },
    { name: 'blocks: names', everyMs: minuteMs, atStart: true, run: () => darkenAgain(deps) },
    ...(usageWebhook === undefined
      ? []
      : [
          {
            name: 'usage: billing',
            everyMs: minuteMs,
            run: () => withLease('usage-billing', () => tellUsage(deps, usageWebhook)),
          },
        ]),
    { name: 'usage: limits of a month', everyMs: minuteMs, atStart: true, run: () => holdToTrafficLimits(deps) },
    { name: 'dns: the re-check', everyMs: 5 * minuteMs, run: recheck.run },
    { name: 'dns: the hosts', everyMs: 5 * minuteMs, run: createHostRecheck({ ...deps, withLease }) },
    ...createAlertPasses({ ...deps, withLease }),
    createWebhookWork({ ...deps, withLease }),
  ];
}

export function createControl(deps: ControlDeps): Control {
  const areaDeps = createAreaDeps(deps);
  const { settings, jobs, origin, version } = areaDeps;
  const events = createEventStreams(areaDeps);
  const metrics = createControlMetrics(deps.store, deps.dependencies ?? []);
  const onDomainLost = createDomainLoss(areaDeps);
  let isRunning = false;
  let stopBackground = (): void => {};
  return {
    fetch: createApp({
      ...areaDeps,
      metrics,
      handlers: createHandlers(areaDeps, events),
      openApi: renderOpenApi({ version, origin, sessionCookie: areaDeps.cookies.session }),
      trustedProxies: settings.trustedProxies,
      withTurnstile: settings.turnstile !== undefined,
      addOtherRoutes: (app) => addOtherRoutes(app, areaDeps, () => isRunning),
    }),
    operator: createOperatorDesk(areaDeps),
    onDomainLost,
    metrics: metrics.registry,
    start: (more = []) => {
      isRunning = true;
      jobs.start();
      stopBackground = startBackground([...createBackground(areaDeps, onDomainLost), ...more], deps.log);
    },
    settle: () => jobs.drain(),
    beginStop: () => {
      isRunning = false;
      events.close();
    },
    close: async () => {
      isRunning = false;
      stopBackground();
      events.close();
      await jobs.stop();
    },
  };
}
