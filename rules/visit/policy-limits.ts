// The bounds of an access policy.

/** Bounds of one policy. Everything but links reaches every edge that serves one of its tunnels. */
export const policyLimits = {
  rules: 100,
  people: 500,
  groups: 50,
  tokens: 100,
  links: 200,
  linkUses: 10_000,
  pathChars: 512,
  sessionHoursLeast: 1,
  sessionHoursMost: 30 * 24,
  sessionHoursDefault: 24,
  passwordCharsLeast: 8,
  passwordCharsMost: 200,
} as const;
