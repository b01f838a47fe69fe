// All of control except its port: the server serves it, and the operator's commands use it too.

import { type Control, createControl } from '@underpass/control/control.ts';
import type { ControlDeps } from '@underpass/control/deps.ts';
import type { Authority } from '@underpass/control/edges/certificate/authority.ts';
import { readNameCertificates } from '@underpass/control/edges/certificate/name-certificates.ts';
import { createDns } from '@underpass/control/edges/dns/dns.ts';
import type { DnsPort } from '@underpass/control/edges/dns/port.ts';
import { createResolver } from '@underpass/control/edges/dns/resolver.ts';
import { FeedHub } from '@underpass/control/edges/feed/hub.ts';
import { keyOpensRegion, ownHosts } from '@underpass/control/edges/region/regions.ts';
import type { Dependency } from '@underpass/control/platform/dependency/dependency.ts';
import type { Settings } from '../settings/settings.ts';
import type { State } from '../state/state.ts';
import { type CertificateSources, openAuthority, openCertificateSources } from './certificate-part.ts';
import { controlSettings, openMail } from './control-settings.ts';
import { readControlStatus } from './status.ts';

export interface ControlCore {
  readonly control: Control;
  readonly hub: FeedHub;
  readonly dns: DnsPort;
  readonly sources: CertificateSources;
  readonly authority: Authority | undefined;
  /** Dependencies of this process alone: the mail server, if there is one. */
  readonly dependencies: readonly Dependency[];
  close(): Promise<void>;
}

/** What a test puts in the place of the product's own; no setting can. */
export type Replaced = Pick<ControlDeps, 'documentNet'>;

export async function openControlCore(settings: Settings, state: State, replaced: Replaced = {}): Promise<ControlCore> {
  const { store, bus, keyRing, clock, steady, log } = state;
  const sources = await openCertificateSources(settings, state);
  const keyOpens = (region: string, keyHash: string): Promise<boolean> => keyOpensRegion(store.db, region, keyHash, clock());
  const hub = new FeedHub({
    ...{ store, bus, keyRing, clock, steady, log, keyOpens },
    origin: settings.origin,
    givenCertificates: sources.certificates,
  });
  const authority = await openAuthority(settings, state, hub, sources);
  const resolver = createResolver({ servers: settings.dnsServers });
  const dns = createDns({ resolver, ownHosts: () => ownHosts(store.db, settings.origin) });
  const { sendMail, mailbox, closeMail, dependencies } = await openMail(settings, state);
  const control = createControl({
    ...{ store, bus, keyRing, clock, log, dns, sendMail },
    dependencies: [...state.dependencies, ...dependencies],
    settings: {
      ...controlSettings(settings),
      ...(sources.localCa === undefined ? {} : { localCa: sources.localCa.certificatePem }),
    },
    feed: hub,
    certificates: {
      clientPin: sources.clientPin,
      ofNames: (names) => readNameCertificates(store.db, sources.certificates(), names, clock()),
      ...(authority?.delegationZone === undefined ? {} : { delegationZone: authority.delegationZone }),
    },
    readStatus: () => readControlStatus(settings, state, core, undefined),
    ...(mailbox === undefined ? {} : { mailbox }),
    ...replaced,
  });
  const core: ControlCore = {
    control,
    hub,
    dns,
    sources,
    authority,
    dependencies,
    close: async () => {
      await control.close();
      await hub.close();
      resolver.close();
      sources.given?.close();
      closeMail();
    },
  };
  return core;
}
