// The public ports of a region, which tcp tunnels get one by one.

import { accept, type Parsed, refuse } from '../parsed.ts';

export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** A listening socket of each process of an edge for each tunnel: more would not fit into its descriptors. */
const mostPorts = 10_000;
/** Lower ports need root, and are where the services of the machine listen. */
const lowestPort = 1_024;

/** `20000-20099`, or one port. */
export function parsePortRange(text: string): Parsed<PortRange> {
  const match = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text.trim());
  const first = Number(match?.[1]);
  const last = Number(match?.[2] ?? match?.[1]);
  if (match === null || first > last) return refuse(`A range of ports is two numbers such as 20000-20099, is '${text}'.`);
  if (first < lowestPort || last > 65_535) return refuse(`Ports must be from ${lowestPort} to 65535, are '${text}'.`);
  if (last - first >= mostPorts) return refuse(`A range may have at most ${mostPorts} ports, is '${text}'.`);
  return accept({ first, last });
}

export const formatPortRange = ({ first, last }: PortRange): string => `${first}-${last}`;

export const isInRange = ({ first, last }: PortRange, port: number): boolean => port >= first && port <= last;

/** Why an edge does not listen on a tunnel's port, as its owner reads it. */
export const portProblems = {
  taken: 'Another program on an edge of the region listens on this port.',
  outside: 'The port is not among those that an edge of the region may open.',
  failed: 'An edge of the region could not open this port.',
} as const;

export type PortProblem = keyof typeof portProblems;

export const isPortProblem = (value: unknown): value is PortProblem =>
  typeof value === 'string' && Object.hasOwn(portProblems, value);
