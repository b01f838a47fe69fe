// Where nobody issues certificates, nothing asks for a name of ours that has none: the log says it.

import type { FeedCertificate } from '@underpass/wire/feed.ts';
import type { Logger } from 'pino';
import type { Store } from '../store/store.ts';
import { readEnds, readOwnNames } from './certificate-rows.ts';

export interface UncoveredNoticeDeps {
  readonly store: Store;
  readonly clock: () => number;
  readonly log: Logger;
  readonly givenCertificates: () => readonly FeedCertificate[];
}

/** To be called at the start and when something changed; says what is new. */
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
