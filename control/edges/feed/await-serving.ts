// Waits briefly until the edges serve tunnels that have just become complete, so that the answer after it, and the page that it
// opens, rarely show the moment in between (Progressing, on screen Unknown).

import { tunnelTypes } from '@underpass/rules/tunnel/tunnel-type.ts';
import type { Store } from '../../platform/store/store.ts';
import type { FeedPort } from './port.ts';

/** Edges acknowledge within a fraction of this. */
const patienceMs = 2_000;
/** Hosts that are looked at: some of a domain with thousands of tunnels are enough to see that a certificate is missing. */
const hostsLookedAt = 100;

/** The part of edges/certificate/port.ts that is used here. */
interface Certificates {
  clientPin(host: string): string | undefined;
  ofNames(names: readonly string[]): Promise<ReadonlyMap<string, { readonly until: number | undefined }>>;
}

export interface AwaitServingDeps {
  readonly store: Pick<Store, 'db'>;
  readonly feed: Pick<FeedPort, 'isServing' | 'edges' | 'onMoved'>;
  readonly certificates: Certificates;
}

/** An outside authority takes longer than we wait; the local one answers at once. */
async function lacksCertificate({ store, certificates }: AwaitServingDeps, tunnelIds: readonly string[]): Promise<boolean> {
  const hosts = await store.db
    .selectFrom('tunnel_hosts as h')
    .innerJoin('tunnels as t', 't.id', 'h.tunnel_id')
    .select(['h.host', 't.type'])
    .where('h.tunnel_id', 'in', tunnelIds)
    .limit(hostsLookedAt)
    .execute();
  const names = hosts.filter(({ type }) => tunnelTypes[type].edgeEndsTls).map(({ host }) => host);
  const outside = names.filter((name) => certificates.clientPin(name) === undefined);
  return [...(await certificates.ofNames(outside)).values()].some(({ until }) => until === undefined);
}

/** Returns at once while no edge is connected, and if a certificate is missing. */
export async function awaitServing(deps: AwaitServingDeps, tunnelIds: readonly string[]): Promise<void> {
  const { feed } = deps;
  const isServing = (): boolean => tunnelIds.every((id) => feed.isServing(id));
  if (isServing() || !feed.edges().some(({ connected }) => connected)) return;
  if (await lacksCertificate(deps, tunnelIds)) return;
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      stop();
      resolve();
    };
    const timer = setTimeout(end, patienceMs);
    const stop = feed.onMoved(() => {
      if (isServing()) end();
    });
    // They may have come to serve it during the look.
    if (isServing()) end();
  });
}
