// The primary's end of the feed: takes it from control, keeps the routes, and passes them on to the workers.

import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FeedPortProblems } from '@underpass/wire/feed/feed.ts';
import { listen } from '../door/listen.ts';
import { FeedLink } from '../feed/feed-link.ts';
import { Reporter } from '../feed/reporter.ts';
import type { EdgeProcessOptions } from '../process/edge-options.ts';
import { changesNothing, RouteTable } from '../routes/route-table.ts';
import { WorkerFeed } from './worker-feed.ts';

type PrimaryFeedOptions = Pick<EdgeProcessOptions, 'feed' | 'region' | 'edgeId' | 'software' | 'hop' | 'snapshot' | 'log'>;

export interface PrimaryFeed {
  readonly table: RouteTable;
  readonly feed: WorkerFeed;
  readonly server: Server;
  /** Sockets of the workers; only the user of the edge may open them. */
  readonly folder: string;
}

export async function openPrimaryFeed(
  options: PrimaryFeedOptions,
  onReport: (tunnelIds: Iterable<string>) => void,
): Promise<PrimaryFeed> {
  const folder = await mkdtemp(join(tmpdir(), 'underpass-edge-'));
  await chmod(folder, 0o700);
  const table = new RouteTable(options.log);
  const feed = new WorkerFeed(table, onReport);
  const server = createServer((socket) => feed.accept(socket));
  await listen(server, { path: feedPathIn(folder) });
  return { table, feed, server, folder };
}

export async function closePrimaryFeed({ feed, server, folder }: PrimaryFeed): Promise<void> {
  feed.close();
  server.close();
  await rm(folder, { recursive: true, force: true });
}

export function createFeedLink(
  options: PrimaryFeedOptions,
  { table, feed }: PrimaryFeed,
  position: FeedLink['position'],
  portProblems: () => FeedPortProblems,
): FeedLink {
  const { region, edgeId, software, hop, snapshot, log } = options;
  const reporter = new Reporter((id) => feed.reports(id));
  return new FeedLink({
    dial: options.feed,
    edgeId,
    region,
    software,
    ...(hop === undefined ? {} : { hopAddress: hop.address }),
    startedAtMs: Date.now(),
    position,
    pace: 'control',
    apply: async (given, at) => {
      const change = await table.apply(given);
      if (changesNothing(change)) return;
      snapshot?.save(() => ({ position: at, state: table.state() }));
      await feed.broadcast(change);
    },
    report: (which) => reporter.report(which),
    visitorLog: () => feed.visitorLog.take(),
    copy: () => snapshot?.state,
    portProblems,
    log,
    random: Math.random,
  });
}

/** The socket on which the workers get their feed. */
export const feedPathIn = (folder: string): string => join(folder, 'feed');
