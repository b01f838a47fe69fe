// What the expiry of a quick tunnel means to people.

import { durations } from '../limits.ts';

export const temporaryLabel = 'Temporary';
export const keepLabel = 'Keep';

/** `endsAt` as the reader writes times. */
export function expiryText(endsAt?: string): string {
  const lease = `Deleted ${durations.quickLeaseMinutes} minutes after its last client disconnects`;
  return endsAt === undefined ? lease : `${lease}, at the latest ${endsAt}`;
}
