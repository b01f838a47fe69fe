// Whether the project has proved that a domain is its own.
import { Badge } from '../../ui/badge.tsx';

export function VerifiedBadge({ verified }: { readonly verified: boolean }) {
  return (
    <Badge tone={verified ? 'ok' : 'warn'} dot={verified ? 'filled' : 'ring'}>
      {verified ? 'Verified' : 'Unverified'}
    </Badge>
  );
}
