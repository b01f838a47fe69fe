// When a tunnel is live in its whole region, if the edges of that region are connected to several control processes. Each process
// announces what its own edges hold. The first to announce hears all the others, so at least one knows that none is missing. Pure.

interface Mark {
  readonly tunnelId: string;
  readonly hosts: string;
}

interface AgreementDeps {
  /** The name of this process among them. */
  readonly self: string;
  /** Nothing waits for a process that takes longer: its edges are late, or its announcement was lost. */
  readonly lateMs: number;
  /** An edge that is silent for longer is gone. */
  readonly silentMs: number;
}

export interface Agreement {
  /** An edge works, and is connected to this process. */
  readonly hear: (process: string, edge: Edge, nowMs: number) => void;
  /** The edges that are connected here hold these. Returns those that are live now. */
  readonly holdHere: (region: string, marks: readonly Mark[], nowMs: number) => readonly Mark[];
  /** The edges of another process hold these. Passes over what is not held here yet: that process will hear our announcement. */
  readonly holdElsewhere: (process: string, marks: readonly Mark[], nowMs: number) => readonly Mark[];
  /** Another process found these live. */
  readonly settle: (marks: readonly Mark[]) => void;
  /** Returns those that have waited long enough. */
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

/** Held here, but not everywhere yet. Kept until the first `overdue` after lateMs. */
interface Waiting {
  readonly region: string;
  readonly mark: Mark;
  readonly sinceMs: number;
  readonly agreed: Set<string>;
}

/** The edges that work, and the process that each is connected to. */
function createWorkingEdges(silentMs: number) {
  /** What was heard, by region and edge. */
  const edges = new Map<string, Map<string, Heard>>();
  const hear: Agreement['hear'] = (process, { region, edgeId }, nowMs) => {
    const heard = edges.get(region) ?? new Map<string, Heard>();
    for (const [each, { atMs }] of heard) if (nowMs - atMs > silentMs) heard.delete(each);
    edges.set(region, heard.set(edgeId, { process, atMs: nowMs }));
  };
  const processesOf = (region: string, nowMs: number): readonly string[] => {
    const heard = [...(edges.get(region)?.values() ?? [])];
    return heard.filter(({ atMs }) => nowMs - atMs <= silentMs).map(({ process }) => process);
  };
  return { hear, processesOf };
}

export function createAgreement({ self, lateMs, silentMs }: AgreementDeps): Agreement {
  const { hear, processesOf } = createWorkingEdges(silentMs);
  const waiting = new Map<string, Waiting>();

  const isLive = ({ region, sinceMs, agreed }: Waiting, nowMs: number): boolean =>
    nowMs - sinceMs > lateMs || processesOf(region, nowMs).every((process) => agreed.has(process));

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
