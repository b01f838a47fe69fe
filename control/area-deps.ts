// What the areas may ask for, made once from deps.ts. Each area takes the few things that its own deps name.

import { limits, rateLimits } from '@underpass/rules/limits.ts';
import { webhookLimits } from '@underpass/rules/tunnel/webhook.ts';
import type { ControlDeps } from './deps.ts';
import { createSilentZones } from './edges/dns/core/silent-zones.ts';
import { createJobHandlers } from './job-handlers.ts';
import { createAltcha } from './people/auth/altcha.ts';
import type { BotCheck } from './people/auth/bot-check.ts';
import { createTurnstile } from './people/auth/turnstile.ts';
import { createJobQueue } from './platform/job/queue.ts';
import { createLimiter } from './platform/limit/limiter.ts';
import { createTurns } from './platform/limit/turns.ts';
import { cookieNames } from './request/http/cookie.ts';
import { createGuardedFetch, createGuardedNet } from './request/http/guarded-fetch.ts';

// A name server that never answers occupies two of the resolver's 32 places for 5 s. The page of a tunnel asks for all of its domains.
const dnsAtOnce = 4;
const dnsWaiting = 2 * limits.ingressDomainsPerTunnel;
/** About 100 bytes each. */
const silentZonesMost = 10_000;

const chooseBotCheck = ({ settings, store, keyRing, clock, log }: ControlDeps): BotCheck =>
  settings.turnstile
    ? createTurnstile({ ...settings.turnstile, origin: settings.origin, log })
    : createAltcha({ store, clock, secrets: () => keyRing.derive('altcha'), cost: 5_000 });

const webhookNet = ({ settings: { production, webhookNetworks: networks }, dns }: ControlDeps) =>
  createGuardedNet({ production, networks, dns });

export function createAreaDeps(deps: ControlDeps) {
  const { settings, limiter = createLimiter(deps.store) } = deps;
  const { origin, version, operatorEmail, quickTunnels, chosenNames, invitationsApprove, usageWebhook } = settings;
  return {
    ...deps,
    ...{ origin, version, operatorEmail, quickTunnels, chosenNames, invitationsApprove, usageWebhook },
    operatorName: settings.operatorIdentity.name,
    botCheck: deps.botCheck ?? chooseBotCheck(deps),
    cookies: cookieNames(origin),
    webhookFetch: createGuardedFetch(webhookNet(deps), webhookLimits.answerBytes),
    jobs: createJobQueue({ ...deps, handlers: createJobHandlers({ ...deps, limiter }) }),
    limiter,
    silentZones: createSilentZones(silentZonesMost),
    /** DNS look-ups, limited for each user. */
    dnsTurns: createTurns(dnsAtOnce, dnsWaiting, rateLimits.dnsPerUser.sentence),
  };
}

export type AreaDeps = ReturnType<typeof createAreaDeps>;
