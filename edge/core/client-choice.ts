// Chooses the client of a tunnel that takes the next stream: the one with the fewest streams among those that work.

export interface ClientState {
  /** A carrier that takes new streams. */
  readonly canOpen: boolean;
  readonly openStreams: number;
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

/** The index of the best client, or -1. `turn` breaks ties, so equal clients take turns. */
export function chooseClient(clients: readonly ClientState[], turn: number): number {
  let best = -1;
  for (let offset = 0; offset < clients.length; offset++) {
    const index = (turn + offset) % clients.length;
    const client = clients[index] as ClientState;
    if (client.canOpen && (best < 0 || isBetter(client, clients[best] as ClientState))) best = index;
  }
  return best;
}

function isBetter(client: ClientState, than: ClientState): boolean {
  const difference = rank(client) - rank(than);
  return difference < 0 || (difference === 0 && client.openStreams < than.openStreams);
}
