// What the client has told this page, and whether it still can.
import { useEffect, useState } from 'react';
import { followExchanges } from '../api/follow.ts';
import { applyEvent, type ListState, newestFirst } from '../core/list-state.ts';

/** `lost`: tries again. `refused`: the token is wrong, so trying again cannot help. */
export type Connection = { readonly kind: 'opening' | 'live' } | { readonly kind: 'lost' | 'refused'; readonly sinceMs: number };

export interface Inspector {
  /** Undefined until the client has answered once. */
  readonly list: ListState | undefined;
  readonly connection: Connection;
}

export function useInspector(): Inspector {
  const [inspector, setInspector] = useState<Inspector>({ list: undefined, connection: { kind: 'opening' } });
  useEffect(() => {
    const end = (kind: 'lost' | 'refused') =>
      setInspector((before) => ({ ...before, connection: { kind, sinceMs: sinceOf(before.connection) } }));
    return followExchanges({
      onList: ({ state, exchanges }) =>
        setInspector({ list: { state, exchanges: newestFirst(exchanges) }, connection: { kind: 'live' } }),
      onEvent: (event) => setInspector(({ list, connection }) => ({ list: list && applyEvent(list, event), connection })),
      onLost: () => end('lost'),
      onRefused: () => end('refused'),
    });
  }, []);
  return inspector;
}

/** The first failure counts, not the latest attempt. */
const sinceOf = (connection: Connection): number => ('sinceMs' in connection ? connection.sinceMs : Date.now());
