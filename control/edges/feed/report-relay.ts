// Cuts edges' reports into parts that the bus can carry to the other control processes, and joins the parts that arrive.

import type { EdgeReport } from './edge-view.ts';

/** NATS takes a megabyte in one message; a report is cut well before. */
const partBytes = 400_000;
/** Parts of one report: 1,000 tunnels each or so. */
const maxParts = 1_000;

interface ReportPart {
  readonly from: string;
  readonly part: number;
  readonly last: boolean;
  readonly report: EdgeReport;
}

export function cutReport(report: EdgeReport, from: string): readonly ReportPart[] {
  const groups: EdgeReport['tunnels'][number][][] = [[]];
  let bytes = 0;
  for (const tunnel of report.tunnels) {
    const size = JSON.stringify(tunnel).length;
    if (bytes + size > partBytes && bytes > 0) {
      groups.push([]);
      bytes = 0;
    }
    bytes += size;
    groups.at(-1)?.push(tunnel);
  }
  return groups.map((tunnels, part) => ({ from, part, last: part === groups.length - 1, report: { ...report, tunnels } }));
}

interface ReportJoiner {
  /** The whole report, once its last part is here. A report with a lost part is dropped: the next comes in seconds. */
  readonly take: (message: unknown) => EdgeReport | undefined;
}

const isPart = (message: unknown): message is ReportPart =>
  typeof message === 'object' && message !== null && 'report' in message && 'part' in message && 'from' in message;

export function createReportJoiner(): ReportJoiner {
  const unfinished = new Map<string, ReportPart[]>();

  const take = (message: unknown): EdgeReport | undefined => {
    if (!isPart(message)) return undefined;
    const key = `${message.from}/${message.report.about.region}/${message.report.about.edgeId}`;
    const parts = message.part === 0 ? [] : (unfinished.get(key) ?? []);
    if (parts.length !== message.part || parts.length >= maxParts) {
      unfinished.delete(key);
      return undefined;
    }
    parts.push(message);
    unfinished.set(key, parts);
    if (!message.last) return undefined;
    unfinished.delete(key);
    return { ...message.report, tunnels: parts.flatMap((each) => each.report.tunnels) };
  };

  return { take };
}
