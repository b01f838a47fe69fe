// Control in this process: state, feed, certificates, domains, and the API on its port.

import { existsSync } from 'node:fs';
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getRequestListener } from '@hono/node-server';
import { resealAccountKeys } from '@underpass/control/certificate/acme/account-key.ts';
import { resealCertificates } from '@underpass/control/certificate/reseal.ts';
import { createUncoveredNotice } from '@underpass/control/certificate/uncovered-notice.ts';
import { type Control, createControl } from '@underpass/control/control.ts';
import type { ControlDeps, ControlSettings } from '@underpass/control/deps.ts';
import { createDns } from '@underpass/control/dns/dns.ts';
import type { DnsPort } from '@underpass/control/dns/port.ts';
import { createRecheck } from '@underpass/control/dns/recheck.ts';
import { createResolver } from '@underpass/control/dns/resolver.ts';
import { FeedHub } from '@underpass/control/feed/hub.ts';
import { createAddressReader } from '@underpass/control/http/address.ts';
import { createLimiter } from '@underpass/control/limit/limiter.ts';
import type { SendMail } from '@underpass/control/mail/mail.ts';
import { createMailbox } from '@underpass/control/mail/mailbox.ts';
import { keyOpensRegion, ownHosts } from '@underpass/control/region/regions.ts';
import { createWithLease } from '@underpass/control/store/lease.ts';
import { resealTunnelTokens } from '@underpass/control/tunnel/token.ts';
import { decideConnectionLimits } from '@underpass/edge/core/connection-limits.ts';
import { ConnectionLimiter } from '@underpass/edge/limits/connection-limiter.ts';
import { readProcessLimits } from '@underpass/edge/limits/process-limits.ts';
import { addressKey } from '@underpass/rules/address.ts';
import type { Logger } from 'pino';
import { ServerError } from '../process/error.ts';
import { version } from '../process/version.ts';
import { type Settings, settingTable } from '../settings/settings.ts';
import { findMissingKeys } from '../state/missing-keys.ts';
import type { State } from '../state/state.ts';
import { type CertificateSources, openCertificateSources, openUpkeep } from './certificate-part.ts';
import { type ConsoleDoor, openConsoleDoor } from './console-door.ts';
import { openFeedDoor } from './feed-door.ts';
import { createHttpServer, seatCallers } from './http-server.ts';
import { listen } from './listen.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The folder, or undefined if it does not exist: a fresh clone has no releases yet. */
const folderOf = (setting: string | undefined, ...fallback: readonly string[]): string | undefined => {
  const path = setting ?? join(root, ...fallback);
  return existsSync(path) ? path : undefined;
};

const builtDashboard = ['dashboard', 'dist'] as const;

function controlSettings(settings: Settings): ControlSettings {
  const dashboard = folderOf(settings.dashboard, ...builtDashboard);
  const releases = folderOf(settings.releases, 'client', 'dist', 'releases');
  const installers = folderOf(undefined, 'deploy', 'installer');
  const {
    turnstileSiteKey: siteKey,
    turnstileSecret: secret,
    turnstileUrl,
    subscriptionLookupUrl,
    subscriptionLookupToken: token,
  } = settings;
  return {
    origin: settings.origin,
    production: settings.production,
    version,
    operatorEmail: settings.operatorEmail,
    securityContact: settings.securityContact ?? `mailto:${settings.operatorEmail}`,
    trustedProxies: settings.trustedProxies,
    operatorIdentity: {
      name: settings.operatorName,
      email: settings.operatorEmail,
      ...(settings.operatorAddress === undefined ? {} : { address: settings.operatorAddress }),
      ...(settings.operatorCompanyNumber === undefined ? {} : { companyNumber: settings.operatorCompanyNumber }),
    },
    ...(siteKey === undefined || secret === undefined ? {} : { turnstile: { siteKey, secret, url: turnstileUrl } }),
    ...(subscriptionLookupUrl === undefined
      ? {}
      : { subscriptionLookup: { url: subscriptionLookupUrl, ...(token === undefined ? {} : { token }) } }),
    ...(settings.subscriptionWebhookSecret === undefined
      ? {}
      : { subscriptionWebhookSecret: settings.subscriptionWebhookSecret }),
    ...(dashboard === undefined ? {} : { dashboard }),
    ...(releases === undefined ? {} : { releases }),
    ...(installers === undefined ? {} : { installers }),
  };
}

interface Mail extends Pick<ControlDeps, 'mailbox'> {
  readonly sendMail: SendMail;
  readonly closeMail: () => void;
}

async function openMail(settings: Settings, clock: () => number): Promise<Mail> {
  if (settings.smtpUrl === undefined) {
    const mailbox = createMailbox(join(settings.home, 'mailbox'), clock);
    return { sendMail: mailbox.send, mailbox, closeMail: () => {} };
  }
  const { createSmtpMail } = await import('@underpass/control/mail/smtp.ts');
  const smtp = createSmtpMail(settings.smtpUrl, settings.mailFrom);
  return { sendMail: smtp.send, closeMail: () => smtp.close() };
}

/** All of control except its port; the operator's commands use it too. */
export interface ControlCore {
  readonly control: Control;
  readonly hub: FeedHub;
  readonly dns: DnsPort;
  readonly sources: CertificateSources;
  close(): Promise<void>;
}

export async function openControlCore(settings: Settings, state: State): Promise<ControlCore> {
  const { store, bus, keyRing, clock, steady, log } = state;
  const sources = await openCertificateSources(settings, state);
  const keyOpens = (region: string, keyHash: string): Promise<boolean> => keyOpensRegion(store.db, region, keyHash, clock());
  const hub = new FeedHub({ store, bus, keyRing, clock, steady, log, givenCertificates: sources.certificates, keyOpens });
  const resolver = createResolver({ servers: settings.dnsServers });
  const dns = createDns({ resolver, ownHosts: () => ownHosts(store.db, settings.origin) });
  const { sendMail, mailbox, closeMail } = await openMail(settings, clock);
  const control = createControl({
    ...{ store, bus, keyRing, clock, log, dns, sendMail },
    settings: controlSettings(settings),
    feed: hub,
    certificates: { clientPin: () => sources.localCa?.fingerprint },
    ...(mailbox === undefined ? {} : { mailbox }),
  });
  return {
    control,
    hub,
    dns,
    sources,
    close: async () => {
      await control.close();
      await hub.close();
      resolver.close();
      sources.given?.close();
      closeMail();
    },
  };
}

export interface RunningControl {
  readonly core: ControlCore;
  readonly port: number;
  /** The socket for the dashboard's visitors from the edge of this process, if it serves them. */
  readonly consolePath: string | undefined;
  /** Call it once the edge of this process can answer the challenges of an authority. */
  orderCertificates(): void;
  /** Stops taking requests; readiness answers 503. */
  beginStop(): void;
  close(): Promise<void>;
}

/** How often a pass looks for due domains; each domain is due once a day. */
const recheckEveryMs = 5 * 60_000;
/** Time for requests to finish at a stop. */
const requestGraceMs = 5_000;

interface Http {
  readonly server: Server;
  /** For the dashboard's visitors that come through the edge. */
  readonly door: ConsoleDoor | undefined;
  /** From now on each response closes its connection. */
  beginStop(): void;
}

async function openHttp(settings: Settings, state: State, { control, hub, sources }: ControlCore): Promise<Http> {
  let isStopping = false;
  let door: ConsoleDoor | undefined;
  const addressOf = (socket: Socket): string => door?.addressOf(socket) ?? socket.remoteAddress ?? '';
  const answer = getRequestListener(async (request, { incoming }) => {
    if (sources.localCa !== undefined && new URL(request.url).pathname === '/ca.pem')
      return answerCa(sources.localCa.certificatePem);
    const response = await control.fetch(request, { remoteAddress: addressOf(incoming.socket) });
    if (isStopping) response.headers.set('connection', 'close');
    return response;
  });
  const server = createHttpServer(answer);
  seatCallers(
    server,
    new ConnectionLimiter(decideConnectionLimits(readProcessLimits(1), {}), state.log),
    settings.trustedProxies,
  );
  openFeedDoor(server, {
    mayAsk: createFeedLimit(settings, state, addressOf),
    keyOpens: (region, keyHash) => keyOpensRegion(state.store.db, region, keyHash, state.clock()),
    accept: (duplex, options) => hub.accept(duplex, options),
    log: state.log,
  });
  if (settings.edgeConsole) door = await openConsoleDoor(server);
  const closeIdle = (): void => server.closeIdleConnections();
  // A live view that ends leaves its connection open for the next request.
  server.on('request', (_, response) => response.once('finish', () => isStopping && setImmediate(closeIdle)));
  const beginStop = (): void => {
    isStopping = true;
    closeIdle();
  };
  return { server, door, beginStop };
}

/** The same rate as the API's limit for each address, with a separate count. */
const createFeedLimit = ({ trustedProxies }: Settings, { store }: State, addressOf: (socket: Socket) => string) => {
  const limiter = createLimiter(store);
  const readAddress = createAddressReader(trustedProxies);
  return async ({ socket, headers }: IncomingMessage): Promise<boolean> => {
    const forwarded = new Headers({ 'x-forwarded-for': String(headers['x-forwarded-for'] ?? '') });
    const address = readAddress(addressOf(socket), forwarded);
    return limiter.take('apiPerAddress', addressKey(address)).then(
      () => true,
      () => false,
    );
  };
};

const answerCa = (pem: string): Response => new Response(pem, { headers: { 'content-type': 'application/x-x509-ca-cert' } });

async function closeHttp(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), requestGraceMs);
  await closed;
  clearTimeout(timer);
}

/** Fails at the start instead of answering "Page not found" later without a reason. */
function expectFolders({ dashboard, releases }: Settings, log: Logger): void {
  const given = [
    [settingTable.dashboard.name, dashboard],
    [settingTable.releases.name, releases],
  ] as const;
  for (const [name, path] of given)
    if (path !== undefined && !existsSync(path)) throw new ServerError('file-unusable', `${path} (${name})`);
  if (folderOf(dashboard, ...builtDashboard) === undefined)
    log.warn('dashboard: it is not built, so that its pages are not found; npm run build makes it');
}

/** `prepare` runs after the database opens and before the first request. */
export async function startControl(
  settings: Settings,
  state: State,
  prepare: (core: ControlCore) => Promise<void>,
): Promise<RunningControl> {
  expectFolders(settings, state.log);
  const core = await openControlCore(settings, state);
  const missing = await findMissingKeys(state.store.db, state, settings);
  if (missing !== undefined) throw new ServerError('keys-missing', `the database: ${missing}`);
  await resealAll(state);
  const http = await openHttp(settings, state, core);
  const port = await listen(http.server, settings.controlListen, settings.port, 'UNDERPASS_PORT');
  await prepare(core);
  await core.hub.start();
  const upkeep = await startUpkeep(settings, state, core);
  const stopRecheck = startRecheck(state, core);
  core.control.start();
  return {
    core,
    port,
    consolePath: http.door?.path,
    orderCertificates: upkeep.order,
    beginStop: () => {
      core.control.beginStop();
      http.beginStop();
    },
    close: async () => {
      stopRecheck();
      await upkeep.close();
      const closed = closeHttp(http.server);
      await core.close();
      await closed;
      await http.door?.close();
    },
  };
}

/** Seals with the newest key what older keys sealed, so that `keys prune` may remove those. */
async function resealAll({ store, keyRing, log }: State): Promise<void> {
  let count = 0;
  for (const reseal of [resealTunnelTokens, resealCertificates, resealAccountKeys]) count += await reseal(store.db, keyRing);
  if (count > 0) log.info({ count }, 'keys: sealed with the newest key');
}

interface RunningUpkeep {
  readonly order: () => void;
  readonly close: () => Promise<void>;
}

async function startUpkeep(settings: Settings, state: State, core: ControlCore): Promise<RunningUpkeep> {
  const { hub, sources } = core;
  const upkeep = await openUpkeep(settings, state, core);
  if (upkeep === undefined) return await keepNotice(state, core);
  sources.given?.watch(() => hub.certificatesChanged());
  const unsubscribe = state.bus.subscribe('feed.tunnels', () => upkeep.nudge());
  upkeep.start();
  // The local authority answers at once, and the first tunnel needs its certificate; ACME takes its time, and asks the edge.
  if (sources.localCa !== undefined) await upkeep.run();
  return {
    order: () => void (sources.localCa === undefined && upkeep.run()),
    close: async () => {
      unsubscribe();
      await upkeep.close();
    },
  };
}

/** With given files only: logs which names they do not cover, again after each change of a tunnel. */
async function keepNotice({ store, clock, log, bus }: State, { hub, sources }: ControlCore): Promise<RunningUpkeep> {
  const tell = createUncoveredNotice({ store, clock, log, givenCertificates: sources.certificates });
  const tellAgain = (): void => void tell().catch((error) => log.warn({ err: error }, 'certificates: not looked through'));
  await tell();
  sources.given?.watch(() => {
    hub.certificatesChanged();
    tellAgain();
  });
  const unsubscribe = bus.subscribe('feed.tunnels', tellAgain);
  return { order: () => {}, close: async () => unsubscribe() };
}

function startRecheck(state: State, { control, dns }: ControlCore): () => void {
  const { store, clock, log } = state;
  const withLease = createWithLease(store, clock);
  const recheck = createRecheck({ store, dns, clock, log, withLease, onLost: control.onDomainLost });
  const run = (): void => void recheck.run().catch((error: unknown) => log.error({ err: error }, 'dns: the re-check failed'));
  const timer = setInterval(run, recheckEveryMs);
  return () => clearInterval(timer);
}
