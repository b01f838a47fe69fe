// The bounds of an access policy.

/** Bounds of one policy. Everything but links reaches every edge that serves one of its tunnels. */
export const policyLimits = {
  rules: 100,
  people: 500,
  groups: 50,
  origins: 50,
  tokens: 100,
  links: 200,
  linkUses: 10_000,
  /** Programs that a page of the API shows, the newest first. */
  programs: 500,
  /** Programs that ended by themselves, of the list of those who were signed out: half of it stays for the project's people. */
  endedPrograms: 250,
  pathChars: 512,
  sessionHoursLeast: 1,
  sessionHoursMost: 30 * 24,
  sessionHoursDefault: 24,
  passwordCharsLeast: 8,
  passwordCharsMost: 200,
} as const;
