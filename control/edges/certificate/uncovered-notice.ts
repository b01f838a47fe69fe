// Logs our own names that no given file covers, if there is no authority to order certificates from.

import type { FeedCertificate } from '@underpass/wire/feed/feed.ts';
import type { PlatformDeps } from '../../platform/deps.ts';
import { readEnds, readOwnNames } from './certificate-rows.ts';

interface UncoveredNoticeDeps extends Pick<PlatformDeps, 'store' | 'clock' | 'log'> {
  readonly givenCertificates: () => readonly FeedCertificate[];
}

/** The function checks the names and logs them if they have changed since the last call. */
export function createUncoveredNotice({ store, clock, log, givenCertificates }: UncoveredNoticeDeps): () => Promise<void> {
  let told = '';
  return async () => {
    const endOf = await readEnds(store.db, givenCertificates());
    const names = (await readOwnNames(store.db)).map(({ name }) => name).filter((name) => endOf(name) <= clock());
    const text = names.join();
    if (names.length > 0 && text !== told)
      log.warn({ names }, 'certificates: no given file covers these; new tunnels of a region wait for that of its host');
    told = text;
  };
}
