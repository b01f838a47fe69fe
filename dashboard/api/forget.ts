// Ends what this page remembers of a session beyond its screens: each module that keeps data of a person says here how it forgets.

const forgetters = new Set<() => void>();

export function onForget(forget: () => void): void {
  forgetters.add(forget);
}

/** Call it when the session ends, and when another one begins. */
export function forgetAll(): void {
  for (const forget of forgetters) forget();
}
