// Announces that a user or a project lost rights, or that a role changed: live views check theirs at once, not at their next regular
// check.

import type { Bus } from './bus.ts';

const subject = 'access-narrowed';

/** Call after the commit, with the id of the user or project that lost the right. */
export const tellNarrowed = (bus: Bus, id: string): void => bus.publish(subject, id);

/** Returns a function that ends the subscription. */
export const hearNarrowed = (bus: Bus, listener: (id: string) => void): (() => void) =>
  bus.subscribe(subject, (id) => listener(String(id)));
