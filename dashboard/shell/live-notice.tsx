// A notice while live updates do not arrive. The offline and the session notice cover their own reasons.
import { useStoppedAt } from '../live/live-link.ts';
import { Banner } from '../ui/banner.tsx';
import { formatTimeOfDay } from '../ui/date/date-format.ts';

export function LiveNotice() {
  const stoppedAt = useStoppedAt();
  if (stoppedAt === undefined || !navigator.onLine) return null;
  return (
    <Banner tone="warn" title="Live updates have stopped." className="mb-6">
      The server cannot be reached. Statuses are as of {formatTimeOfDay(stoppedAt)} and update once it is back. Your tunnels may
      still work.
    </Banner>
  );
}
