// Whether the project has proven that it owns a domain.
import { Badge } from '../../ui/badge.tsx';

export function VerifiedBadge({ verified }: { readonly verified: boolean }) {
  return (
    <Badge tone={verified ? 'ok' : 'warn'} dot={verified ? 'filled' : 'ring'}>
      {verified ? 'Verified' : 'Unverified'}
    </Badge>
  );
}
