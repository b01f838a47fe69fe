// Which client of a tunnel takes the next stream: least in flight among those that work.

export interface ClientState {
  /** A carrier that takes new streams. */
  readonly canOpen: boolean;
  readonly openStreams: number;
  /** A round trip came back within the time in which "connected" must be proven. */
  readonly proven: boolean;
  readonly answer: 'healthy' | 'unhealthy' | 'none';
}

/** Better is lower: an unproven or unhealthy client is tried last rather than never, because the alternative is an error. */
function rank(client: ClientState): number {
  if (client.answer === 'none') return 4;
  return (client.proven ? 0 : 2) + (client.answer === 'healthy' ? 0 : 1);
}

/** Nothing better can be had elsewhere; another worker or edge is worth a hop where this is not so. */
export const isWorking = (client: ClientState): boolean => client.canOpen && rank(client) === 0;

/** The index of the best, or -1. `turn` breaks ties, so that equal clients take turns. */
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
