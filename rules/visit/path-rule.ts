// The path rules of an access policy: the first rule that matches decides. Pure.

export const pathActions = ['public', 'sign-in', 'deny'] as const;
export type PathAction = (typeof pathActions)[number];

export interface PathRule {
  /** `/docs` is this path alone, `/docs/*` also everything below it, `/*` every path; `/mcp#tools/list` one call of an MCP server. */
  readonly path: string;
  readonly action: PathAction;
}

/** A path that no rule matches needs a sign-in. */
export const defaultAction: PathAction = 'sign-in';
