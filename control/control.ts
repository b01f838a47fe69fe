// createControl: the API and everything that it needs, made only from deps. It opens no sockets: server/ brings requests and edges.

import { limits, rateLimits } from '@underpass/rules/limits.ts';
import type { Registry } from 'prom-client';
import { type App, type Connection, createApp } from './api/app.ts';
import { createControlMetrics } from './api/metrics.ts';
import { renderOpenApi } from './api/openapi.ts';
import type { ControlDeps } from './deps.ts';
import { createSilentZones } from './edges/dns/core/silent-zones.ts';
import { createJobHandlers } from './jobs.ts';
import { createOperatorCalls } from './operator/calls.ts';
import { createOperatorDesk, type OperatorDesk } from './operator/desk.ts';
import { createAccountCalls } from './people/account/calls.ts';
import { createAuditCalls } from './people/audit/calls.ts';
import { createAltcha } from './people/auth/altcha.ts';
import type { BotCheck } from './people/auth/bot-check.ts';
import { createAuthCalls } from './people/auth/calls.ts';
import { createTurnstile } from './people/auth/turnstile.ts';
import { createDeviceCalls } from './people/device/calls.ts';
import { createInvitationCalls } from './people/invitation/calls.ts';
import { createPasskeyCalls } from './people/passkey/calls.ts';
import { createProjectCalls } from './people/project/calls.ts';
import { createRegistrationCalls } from './people/registration/calls.ts';
import { takeSubscriptionWebhook } from './people/registration/webhook.ts';
import { createTokenCalls } from './people/token/calls.ts';
import { createJobQueue } from './platform/job/queue.ts';
import { createLimiter } from './platform/limit/limiter.ts';
import { createTurns } from './platform/limit/turns.ts';
import type { Handlers } from './request/caller/call.ts';
import { cookieNames } from './request/http/cookie.ts';
import { answerMethod } from './request/http/method.ts';
import { createSiteCalls } from './site/calls.ts';
import { addMailbox, mailboxPath } from './site/mailbox-page.ts';
import { createReleases } from './site/releases.ts';
import { addSite } from './site/site.ts';
import { sweepStore } from './sweep/sweep.ts';
import { createDomainCalls } from './tunnels/domain/calls.ts';
import { createDomainLoss } from './tunnels/domain/ownership.ts';
import { createGroupCalls } from './tunnels/group/calls.ts';
import { createTunnelCalls } from './tunnels/tunnel/calls.ts';
import { createDomainCheckCalls } from './tunnels/tunnel/domain-check.ts';
import { createEventStreams, type EventStreams } from './tunnels/tunnel/events.ts';
import { expireTunnels } from './tunnels/tunnel/expiry.ts';
import { createPolicyCalls } from './visitors/policies/calls.ts';
import { findVisitPolicy } from './visitors/policies/find-visit-policy.ts';
import { createDocumentReader, publicNet } from './visitors/programs/document.ts';
import { createProgramCalls } from './visitors/programs/program-calls.ts';
import { addOAuth } from './visitors/programs/routes.ts';
import { addVisits } from './visitors/sign-in/routes.ts';

export interface Control {
  fetch(request: Request, connection?: Connection): Promise<Response>;
  readonly operator: OperatorDesk;
  /** What follows when the daily re-check (edges/dns/recheck.ts) finds a domain lost. */
  readonly onDomainLost: ReturnType<typeof createDomainLoss>;
  readonly metrics: Registry;
  /** The last step of a start: begins the background work (jobs and sweeping), and /readyz may answer 200 from now on. */
  start(): void;
  /** Runs every job that is due now. */
  settle(): Promise<void>;
  /** Makes /readyz answer 503 from now on, so that a load balancer sends requests elsewhere. */
  beginStop(): void;
  /** Ends live views and waits for the running job. Leaves the store open: its opener closes it. */
  close(): Promise<void>;
}

const sweepEveryMs = 10 * 60_000;
const expireEveryMs = 60_000;

// A name server that never answers occupies two of the resolver's 32 places for 5 s. The page of a tunnel asks for all of its domains.
const dnsAtOnce = 4;
const dnsWaiting = 2 * limits.ingressDomainsPerTunnel;
/** About 100 bytes each. */
const silentZonesMost = 10_000;

const chooseBotCheck = ({ settings, store, keyRing, clock, log }: ControlDeps): BotCheck =>
  settings.turnstile
    ? createTurnstile({ ...settings.turnstile, origin: settings.origin, log })
    : createAltcha({ store, clock, secret: keyRing.derive('altcha'), cost: 5_000 });

/** Everything that an area may ask for. Each takes the few things that its own deps name. */
const createParts = (deps: ControlDeps, limiter = deps.limiter ?? createLimiter(deps.store)) => ({
  ...deps,
  origin: deps.settings.origin,
  version: deps.settings.version,
  operatorEmail: deps.settings.operatorEmail,
  quickTunnels: deps.settings.quickTunnels,
  botCheck: deps.botCheck ?? chooseBotCheck(deps),
  cookies: cookieNames(deps.settings.origin),
  jobs: createJobQueue({ ...deps, handlers: createJobHandlers({ ...deps, limiter }) }),
  limiter,
  silentZones: createSilentZones(silentZonesMost),
  /** DNS look-ups, limited for each user. */
  dnsTurns: createTurns(dnsAtOnce, dnsWaiting, rateLimits.dnsPerUser.sentence),
});

type Parts = ReturnType<typeof createParts>;

const createHandlers = (parts: Parts, events: EventStreams): Handlers => {
  const { version, origin, operatorIdentity: operator, releases } = parts.settings;
  return {
    ...createAuthCalls(parts),
    ...createAccountCalls(parts),
    ...createPasskeyCalls(parts),
    ...createRegistrationCalls(parts),
    ...createProjectCalls(parts),
    ...createInvitationCalls(parts),
    ...createTokenCalls(parts),
    ...createDeviceCalls(parts),
    ...createDomainCalls(parts),
    ...createTunnelCalls(parts),
    ...createDomainCheckCalls(parts),
    ...events.calls,
    ...createGroupCalls(parts),
    ...createPolicyCalls(parts),
    ...createProgramCalls(parts),
    ...createAuditCalls(parts),
    ...createOperatorCalls(parts),
    ...createSiteCalls(
      { version, origin, operator, ...(keepsMail(parts) && { mailbox: mailboxPath }) },
      createReleases(releases),
    ),
  };
};

const keepsMail = ({ settings, mailbox }: Parts): boolean => mailbox !== undefined && !settings.production;

const addPages = (app: App, parts: Parts, isRunning: () => boolean): void => {
  const { settings, mailbox } = parts;
  const webhook = { ...parts, secret: settings.subscriptionWebhookSecret };
  app.post('/hooks/subscriptions', (c) => takeSubscriptionWebhook(webhook, c.req.raw, c.env.address));
  app.all('/hooks/subscriptions', (c) => answerMethod(c.req.raw, ['POST']));
  if (mailbox !== undefined && keepsMail(parts)) addMailbox(app, { ...parts, mailbox });
  const { store, keyRing, clock, dns, documentNet = publicNet(dns) } = parts;
  const programs = addOAuth(app, {
    ...parts,
    findPolicy: (host) => findVisitPolicy(store.db, keyRing, host, clock()),
    readDocument: createDocumentReader(documentNet),
  });
  addVisits(app, { ...parts, production: settings.production, providerNetworks: settings.providerNetworks, programs });
  addSite(app, { ...parts, isRunning });
};

export const createControl = (deps: ControlDeps): Control => {
  const parts = createParts(deps);
  const { settings, jobs, origin, version } = parts;
  const events = createEventStreams(parts);
  const metrics = createControlMetrics(deps.store, deps.dependencies ?? []);
  let isRunning = false;
  const timers: NodeJS.Timeout[] = [];
  const sweep = (): void => {
    sweepStore(deps.store, deps.clock(), deps.log).catch((error) => deps.log.error({ err: error }, 'sweeping failed'));
  };
  const expire = (): Promise<void> =>
    expireTunnels(deps).catch((error: unknown) => deps.log.error({ err: error }, 'quick tunnels: expiring failed'));
  return {
    fetch: createApp({
      ...parts,
      metrics,
      handlers: createHandlers(parts, events),
      openApi: renderOpenApi({ version, origin, sessionCookie: parts.cookies.session }),
      trustedProxies: settings.trustedProxies,
      withTurnstile: settings.turnstile !== undefined,
      addPages: (app) => addPages(app, parts, () => isRunning),
    }),
    operator: createOperatorDesk(parts),
    onDomainLost: createDomainLoss(parts),
    metrics: metrics.registry,
    start: () => {
      isRunning = true;
      jobs.start();
      timers.push(
        setInterval(sweep, sweepEveryMs),
        setInterval(() => void expire(), expireEveryMs),
      );
      sweep();
      void expire();
    },
    settle: () => jobs.drain(),
    beginStop: () => {
      isRunning = false;
      events.close();
    },
    close: async () => {
      isRunning = false;
      for (const timer of timers) clearInterval(timer);
      events.close();
      await jobs.stop();
    },
  };
};
