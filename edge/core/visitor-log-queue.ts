// Entries of visitor logs on their way to control: what an edge holds until the feed takes them. Bounded; what does not fit is counted.

import type { FeedLogEntry, FeedTunnelLog } from '@underpass/wire/feed/feed.ts';

/** Entries that one message takes, some 1.5 kB each at most. */
const mostInMessage = 500;
/** Entries that wait, while control is away or slow. */
const mostWaiting = 2_000;
/** Entries of one tunnel among these: a flood on one must not hide the visits of others. */
const mostOfTunnel = 400;
/** Tunnels whose missed visits are counted. */
const mostTunnels = 10_000;

interface Waiting {
  readonly projectId: string;
  readonly entries: FeedLogEntry[];
  missed: number;
}

interface Project {
  count: number;
  readonly logs: Ranking<Waiting>;
}

/** Things by how many entries they have. The largest is at hand: a full queue asks for it at each visit. */
class Ranking<Ranked> {
  readonly #byCount = new Map<number, Set<Ranked>>();
  #most = 0;

  move(ranked: Ranked, from: number, to: number): void {
    const left = this.#byCount.get(from);
    left?.delete(ranked);
    if (left?.size === 0) this.#byCount.delete(from);
    if (to > 0) this.#byCount.set(to, (this.#byCount.get(to) ?? new Set()).add(ranked));
    this.#most = Math.max(this.#most, to);
    while (this.#most > 0 && !this.#byCount.has(this.#most)) this.#most--;
  }

  get largest(): Ranked | undefined {
    return this.#byCount.get(this.#most)?.values().next().value;
  }
}

export class VisitorLogQueue {
  readonly #projectOf: (tunnelId: string) => string;
  readonly #waiting = new Map<string, Waiting>();
  /** Projects that have entries. */
  readonly #projects = new Map<string, Project>();
  readonly #ranking = new Ranking<Project>();
  #count = 0;

  /** `projectOf`: whose tunnels share a part of the room. */
  constructor(projectOf: (tunnelId: string) => string) {
    this.#projectOf = projectOf;
  }

  add(tunnelId: string, entry: FeedLogEntry): void {
    const log = this.#of(tunnelId);
    if (log === undefined) return;
    if (log.entries.length >= mostOfTunnel || (this.#count >= mostWaiting && !this.#makeRoom(log.projectId))) {
      log.missed++;
      return;
    }
    log.entries.push(entry);
    this.#moved(log, 1);
  }

  miss(tunnelId: string, count: number): void {
    const log = count > 0 ? this.#of(tunnelId) : undefined;
    if (log !== undefined) log.missed += count;
  }

  /** Takes an entry from the tunnel with most of the project with most, for a project that has fewer. False: it has none. */
  #makeRoom(projectId: string): boolean {
    const project = this.#ranking.largest;
    const log = project?.logs.largest;
    if (project === undefined || log === undefined) return false;
    if (project.count <= (this.#projects.get(projectId)?.count ?? 0) + 1) return false;
    log.entries.shift();
    log.missed++;
    this.#moved(log, -1);
    return true;
  }

  /** The log has `by` entries more. */
  #moved(log: Waiting, by: number): void {
    const project = this.#projects.get(log.projectId) ?? { count: 0, logs: new Ranking() };
    const before = project.count;
    project.count += by;
    project.logs.move(log, log.entries.length - by, log.entries.length);
    this.#ranking.move(project, before, project.count);
    if (project.count > 0) this.#projects.set(log.projectId, project);
    else this.#projects.delete(log.projectId);
    this.#count += by;
  }

  #of(tunnelId: string): Waiting | undefined {
    const known = this.#waiting.get(tunnelId);
    if (known !== undefined || this.#waiting.size >= mostTunnels) return known;
    const log = { projectId: this.#projectOf(tunnelId), entries: [], missed: 0 };
    this.#waiting.set(tunnelId, log);
    return log;
  }

  /** Takes over what a worker sends. */
  addAll(logs: readonly FeedTunnelLog[]): void {
    for (const { tunnelId, entries, missed } of logs) {
      for (const entry of entries) this.add(tunnelId, entry);
      this.miss(tunnelId, missed);
    }
  }

  /** The next message; empty if nothing waits. A tunnel that does not fit whole goes on in the next one. */
  take(): FeedTunnelLog[] {
    const taken: FeedTunnelLog[] = [];
    let room = mostInMessage;
    for (const [tunnelId, log] of this.#waiting) {
      if (room === 0) break;
      const some = log.entries.splice(0, room);
      room -= some.length;
      this.#moved(log, -some.length);
      taken.push({ tunnelId, entries: some, missed: log.missed });
      log.missed = 0;
      if (log.entries.length === 0) this.#waiting.delete(tunnelId);
    }
    return taken;
  }
}
