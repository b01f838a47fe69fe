// Chooses the carrier that takes a tunnel's next stream: one that is not busy, with the fewest streams, among those that work.

export interface ClientState {
  /** A carrier that takes new streams. */
  readonly canOpen: boolean;
  readonly openStreams: number;
  readonly clientId: string;
  /** A long path on which bytes wait or flow: what comes next would wait behind them. */
  readonly isBusy: boolean;
  /** What a long path has carried with BBR, which keeps what it has learned: the more, the wider is the window. 0 otherwise. */
  readonly learnedBytes: number;
  /** A round trip completed recently enough to count as connected. */
  readonly proven: boolean;
  readonly answer: 'healthy' | 'unhealthy' | 'none';
}

/** Lower is better. An unproven or unhealthy client is tried last rather than never, because the alternative is an error. */
function rank(client: ClientState): number {
  if (client.answer === 'none') return 4;
  return (client.proven ? 0 : 2) + (client.answer === 'healthy' ? 0 : 1);
}

/** False if a working client elsewhere is worth a hop. */
export const isWorking = (client: ClientState): boolean => client.canOpen && rank(client) === 0;

/** The index of the best client, or -1. `start` breaks ties: another one each time, so equal clients take turns. */
export function chooseClient(clients: readonly ClientState[], start: number): number {
  let best = -1;
  for (let offset = 0; offset < clients.length; offset++) {
    const index = (start + offset) % clients.length;
    const client = clients[index] as ClientState;
    if (client.canOpen && (best < 0 || isBetter(client, clients[best] as ClientState))) best = index;
  }
  return best;
}

function isBetter(client: ClientState, than: ClientState): boolean {
  const difference =
    rank(client) - rank(than) || Number(client.isBusy) - Number(than.isBusy) || client.openStreams - than.openStreams;
  if (difference !== 0) return difference < 0;
  // Clients take turns, their carriers need not.
  return client.clientId === than.clientId && client.learnedBytes > than.learnedBytes;
}
