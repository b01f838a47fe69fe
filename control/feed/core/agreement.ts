// When a tunnel is live in its whole region, where several control processes hold connections of its edges: each speaks for its
// own. Whoever speaks first hears all the others after it, so one process at least can tell that nobody is missing. Pure.

interface Mark {
  readonly tunnelId: string;
  readonly hosts: string;
}

export interface AgreementDeps {
  /** The name of this process among them. */
  readonly self: string;
  /** A process that takes longer is not waited for: its edges are late, or its word was lost. */
  readonly lateMs: number;
  /** An edge that said nothing for so long is gone. */
  readonly silentMs: number;
}

export interface Agreement {
  /** An edge says something, and this is the process that it is connected to. */
  readonly hear: (process: string, edge: Edge, nowMs: number) => void;
  /** The edges that are connected here hold these; answers with those that are live by that. */
  readonly holdHere: (region: string, marks: readonly Mark[], nowMs: number) => readonly Mark[];
  /** Those of another process do. What is not held here yet is passed over: that process will hear of it from us. */
  readonly holdElsewhere: (process: string, marks: readonly Mark[], nowMs: number) => readonly Mark[];
  /** Live by the word of another process. */
  readonly settle: (marks: readonly Mark[]) => void;
  /** Those for which nobody is waited for any longer. */
  readonly overdue: (nowMs: number) => readonly Mark[];
}

interface Edge {
  readonly region: string;
  readonly edgeId: string;
}

interface Heard {
  readonly process: string;
  readonly atMs: number;
}

/** Held here, not everywhere yet. There for no longer than lateMs and a beat. */
interface Waiting {
  readonly region: string;
  readonly mark: Mark;
  readonly sinceMs: number;
  readonly agreed: Set<string>;
}

export function createAgreement({ self, lateMs, silentMs }: AgreementDeps): Agreement {
  /** By region and edge. */
  const edges = new Map<string, Map<string, Heard>>();
  const waiting = new Map<string, Waiting>();

  const hear: Agreement['hear'] = (process, { region, edgeId }, nowMs) => {
    const heard = edges.get(region) ?? new Map<string, Heard>();
    for (const [each, { atMs }] of heard) if (nowMs - atMs > silentMs) heard.delete(each);
    edges.set(region, heard.set(edgeId, { process, atMs: nowMs }));
  };

  const isLive = ({ region, sinceMs, agreed }: Waiting, nowMs: number): boolean =>
    nowMs - sinceMs > lateMs ||
    [...(edges.get(region)?.values() ?? [])].every(({ process, atMs }) => agreed.has(process) || nowMs - atMs > silentMs);

  const find = ({ tunnelId, hosts }: Mark): Waiting | undefined => {
    const found = waiting.get(tunnelId);
    return found?.mark.hosts === hosts ? found : undefined;
  };

  const settle: Agreement['settle'] = (marks) => {
    for (const mark of marks) if (find(mark) !== undefined) waiting.delete(mark.tunnelId);
  };

  const takeLive = (among: Iterable<Waiting>, nowMs: number): readonly Mark[] => {
    const live = [...among].filter((each) => isLive(each, nowMs)).map((each) => each.mark);
    settle(live);
    return live;
  };

  return {
    hear,
    holdHere: (region, marks, nowMs) => {
      const held = marks.map((mark) => find(mark) ?? { region, mark, sinceMs: nowMs, agreed: new Set([self]) });
      for (const each of held) waiting.set(each.mark.tunnelId, each);
      return takeLive(held, nowMs);
    },
    holdElsewhere: (process, marks, nowMs) => {
      const held = marks.flatMap((mark) => find(mark) ?? []);
      for (const { agreed } of held) agreed.add(process);
      return takeLive(held, nowMs);
    },
    settle,
    overdue: (nowMs) => takeLive(waiting.values(), nowMs),
  };
}
