// What in the service needs its operators: decided from facts, the most urgent first. Pure.

import { counted } from '../text/counted.ts';

/** What `underpass-server status` tells about, and what to do about a part that tells no error of its own. */
const parts = {
  control: { title: 'Control', advice: 'Read its log.' },
  database: { title: 'Database', advice: 'Nothing can change until it answers. Check that it runs, and the network.' },
  bus: { title: 'NATS', advice: 'Edges and control wait for it. Check that NATS runs, and the network.' },
  mail: { title: 'Mail server', advice: 'Mails wait and are sent once it answers.' },
  queue: { title: 'Queue', advice: 'Mails wait. Read the log of control.' },
  edge: { title: 'Edge', advice: 'Its visitors and clients use another edge, if the region has one. Check the machine.' },
  feed: { title: 'Feed', advice: 'The edge serves with the routes that it has.' },
  copy: { title: 'Copy of the routes', advice: 'An edge that starts without control has old routes. Check its disk.' },
  region: { title: 'Region', advice: 'Visitors of its tunnels get no answer.' },
  certificate: { title: 'Certificates', advice: 'Visitors get a certificate error. The log of control tells why.' },
  backup: { title: 'Backup', advice: 'Check the command or timer that makes it.' },
};
export type ServicePart = keyof typeof parts;
export const serviceParts = Object.keys(parts) as ServicePart[];

interface PartState {
  readonly part: ServicePart;
  readonly name: string;
  readonly ok: boolean;
  readonly state: string;
  readonly since: string | null;
  readonly lastError: string | null;
}

/** Kinds from the most to the least urgent. */
export const serviceKinds = {
  'part-failing': { tone: 'negative' },
  'abuse-open': { tone: 'warning' },
  'edge-behind': { tone: 'warning' },
  'registrations-waiting': { tone: 'waiting' },
} as const;
export type ServiceKind = keyof typeof serviceKinds;

/** One thing that needs an operator. The kind decides which of the others are there. */
export interface ServiceItem {
  readonly kind: ServiceKind;
  readonly part?: ServicePart;
  /** The name of a part or an edge. */
  readonly name?: string;
  readonly state?: string;
  /** When it began; of what waits, since when the oldest waits. */
  readonly since?: string;
  readonly error?: string;
  readonly affected?: number;
}

/** How many wait, and since when the oldest does. */
export interface Waiting {
  readonly total: number;
  readonly since?: string | undefined;
}

export interface ServiceFacts {
  readonly parts: readonly PartState[];
  readonly edges: readonly {
    readonly id: string;
    readonly region: string;
    readonly connected: boolean;
    readonly acknowledged: boolean;
  }[];
  readonly registrations: Waiting;
  readonly abuseReports: Waiting;
}

export function decideServiceAttention({ parts, edges, registrations, abuseReports }: ServiceFacts): readonly ServiceItem[] {
  return [
    ...parts.filter(({ ok }) => !ok).map(ofPart),
    ...ofWaiting('abuse-open', abuseReports),
    ...edges
      .filter(({ connected, acknowledged }) => connected && !acknowledged)
      .map(({ id, region }): ServiceItem => ({ kind: 'edge-behind', name: `${region}/${id}` })),
    ...ofWaiting('registrations-waiting', registrations),
  ];
}

const ofPart = ({ part, name, state, since, lastError }: PartState): ServiceItem => ({
  ...{ kind: 'part-failing', part, name, state },
  ...(since === null ? {} : { since }),
  ...(lastError === null ? {} : { error: lastError }),
});

const ofWaiting = (kind: ServiceKind, { total, since }: Waiting): readonly ServiceItem[] =>
  total === 0 ? [] : [{ kind, affected: total, ...(since === undefined ? {} : { since }) }];

interface ServiceText {
  readonly title: string;
  /** What is known, or what to do. */
  readonly text: string;
}

export function describeServiceItem({
  kind,
  part = 'control',
  name = '',
  state = '',
  error,
  affected = 1,
}: ServiceItem): ServiceText {
  switch (kind) {
    case 'part-failing':
      return {
        title: `${nameOfPart(part, name)}: ${state}`,
        text: error === undefined ? parts[part].advice : `Last error: ${error}`,
      };
    case 'abuse-open':
      return {
        title: `${counted(affected, 'abuse report')} ${affected === 1 ? 'is' : 'are'} open`,
        text: 'Read and close them.',
      };
    case 'edge-behind':
      return { title: `The edge ${name} is behind`, text: 'It is connected, but has not taken the latest routes.' };
    case 'registrations-waiting':
      return { title: `${counted(affected, 'registration')} ${affected === 1 ? 'waits' : 'wait'}`, text: 'Approve or reject.' };
  }
}

export const nameOfPart = (part: ServicePart, name: string): string =>
  name === '' ? parts[part].title : `${parts[part].title} ${name}`;

/** How the edges stand, in one sentence. */
export function describeEdges(connected: number, total: number): string {
  if (total === 0) return 'No edge has connected yet.';
  if (connected === total) return total === 1 ? 'The edge is connected.' : `All ${counted(total, 'edge')} are connected.`;
  return `${connected.toLocaleString('en-US')} of ${counted(total, 'edge')} ${connected === 1 ? 'is' : 'are'} connected.`;
}
