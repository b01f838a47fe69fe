// What members may know of the certificates that serve their names: until when, and whether the last order failed.

import type { FeedCertificate } from '@underpass/wire/feed/feed.ts';
import type { Queries } from '../../platform/store/store.ts';
import { readOwnEnds } from '../own-certificate/own-rows.ts';
import { namesServing } from './core/wanted.ts';
import type { NameCertificate } from './port.ts';

/** Looks the given names up by index: an installation may have a hundred thousand others. */
export async function readNameCertificates(
  db: Queries,
  given: readonly FeedCertificate[],
  names: readonly string[],
  nowMs: number,
): Promise<ReadonlyMap<string, NameCertificate>> {
  if (names.length === 0) return new Map();
  const serving = [...new Set(names.flatMap(namesServing))];
  const held = await db.selectFrom('certificates').select(['name', 'expires_at']).where('name', 'in', serving).execute();
  const attempts = await db
    .selectFrom('certificate_attempts')
    .select(['name', 'outcome'])
    .where('name', 'in', serving)
    .orderBy('at')
    .execute();
  const ends = [
    ...held.map(({ name, expires_at }) => ({ hosts: [name], endsAt: expires_at })),
    ...given.map(({ hosts, notAfterMs }) => ({ hosts, endsAt: notAfterMs })),
  ];
  const own = await readOwnEnds(db, names, nowMs);
  const last = new Map(attempts.map(({ name, outcome }) => [name, outcome]));
  return new Map(
    names.map((name) => {
      const ownEnd = own.get(name);
      if (ownEnd !== undefined) return [name, { until: ownEnd, lastOrderFailed: false, own: true }];
      const fitting = ends.filter(({ hosts }) => namesServing(name).some((each) => hosts.includes(each)));
      const until = Math.max(0, ...fitting.map(({ endsAt }) => endsAt));
      return [name, { until: until > nowMs ? until : undefined, lastOrderFailed: last.get(name) === 'failed' }];
    }),
  );
}
