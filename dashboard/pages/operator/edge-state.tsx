// The state of an edge in one word.
import type { EdgeHealth } from '@underpass/rules/entity/resource.ts';
import { Badge } from '../../ui/badge.tsx';

export function stateOf({ connected, acknowledged }: Pick<EdgeHealth, 'connected' | 'acknowledged'>) {
  if (!connected) return { label: 'Disconnected', tone: 'danger', dot: 'cross' } as const;
  return acknowledged
    ? ({ label: 'Up to date', tone: 'ok', dot: 'filled' } as const)
    : ({ label: 'Updating', tone: 'warn', dot: 'filled' } as const);
}

export function EdgeState({ edge }: { readonly edge: EdgeHealth }) {
  const { label, tone, dot } = stateOf(edge);
  return (
    <Badge tone={tone} dot={dot} className="w-fit">
      {label}
    </Badge>
  );
}
