// Access policies: who may visit the http tunnels that they are attached to. Their JSON, and the bounds of their parts.

import { z } from 'zod';
import {
  array,
  boolean,
  count,
  type Described,
  entity,
  maybe,
  nullable,
  number,
  secret,
  string,
  time,
} from '../entity/schema.ts';
import { signInMethods } from './grants.ts';
import { pathActions } from './path-rule.ts';

export const AccessProvider = entity({
  issuer: z.url(),
  clientId: string(),
  /** What the button says: `Sign in with <label>`. */
  label: string(),
  /** E-mail addresses and `*@domain`. */
  people: array(string()),
  groupClaim: string(),
  groups: array(string()),
});
export type AccessProvider = Described<typeof AccessProvider>;

export const AccessPathRule = entity({ path: string(), action: z.enum(pathActions) });

export const AccessPolicy = entity({
  name: string(),
  updatedAt: time(),
  /** Names of the tunnels that it is attached to. */
  tunnels: array(string()),
  /** The first that matches decides; a path that none matches needs a sign-in. */
  rules: array(AccessPathRule),
  /** Members of the project sign in through the dashboard. */
  members: boolean(),
  /** E-mail addresses and `*@domain`: they sign in with a code by e-mail. */
  people: array(string()),
  provider: nullable(AccessProvider),
  /** Whether it has a password. */
  password: boolean(),
  /** Lower-case name of the header field that carries a machine's token. `authorization`: as `Bearer`. */
  tokenHeader: string(),
  tokenCount: count(),
  linkCount: count(),
  /** Other origins whose pages may write and open WebSockets with a visitor's session. */
  origins: array(string()),
  sessionHours: number().int(),
  /** Whether sign-ins are written to the sign-in log. */
  log: boolean(),
});
export type AccessPolicy = Described<typeof AccessPolicy>;

export const AccessToken = entity({
  id: string(),
  name: string(),
  createdBy: string(),
  createdAt: time(),
  expiresAt: nullable(time()),
});
export type AccessToken = Described<typeof AccessToken>;

/** Answered once, at creation: afterwards only a hash of the token exists. */
export const NewAccessToken = entity({ ...AccessToken.shape, token: secret() });

export const AccessLink = entity({
  id: string(),
  name: string(),
  createdBy: string(),
  createdAt: time(),
  expiresAt: nullable(time()),
  uses: count(),
  /** Null: any number. */
  mostUses: nullable(count()),
  usedAt: nullable(time()),
});
export type AccessLink = Described<typeof AccessLink>;

/** Answered once, at creation. The secret is the fragment of the address, which no server and no log sees. */
export const NewAccessLink = entity({ ...AccessLink.shape, urls: array(secret()) });

/** A program that a visitor allowed to act for them, by OAuth. */
export const AccessProgram = entity({
  id: string(),
  name: string(),
  /** Host of the document that describes the program, which vouches for it; null: the program chose its name itself. */
  site: nullable(string()),
  host: string(),
  /** E-mail address of the visitor; empty if the sign-in proves none. */
  who: string(),
  method: z.enum(signInMethods),
  connectedAt: time(),
  /** When the visitor's sign-in ends, and the program's access with it. */
  endsAt: time(),
});
export type AccessProgram = Described<typeof AccessProgram>;

export const AccessSignIn = entity({
  id: string(),
  at: time(),
  policy: string(),
  host: string(),
  /** An e-mail address, or the name of a link or program; empty if the visitor is unknown. */
  who: string(),
  method: z.enum([...signInMethods, 'agent']),
  allowed: boolean(),
  /** One sentence; empty if allowed. */
  reason: string(),
  address: string(),
});
export type AccessSignIn = Described<typeof AccessSignIn>;

export const AccessSignInPage = entity({
  entries: array(AccessSignIn),
  next: nullable(string()),
  previous: maybe(nullable(string())),
});

/** What the test of a policy answers. */
export const AccessTest = entity({
  /** `refuse`: with 401 or 403; `sign-in`: a browser goes to the sign-in. */
  outcome: z.enum(['allow', 'sign-in', 'refuse']),
  securityGroup: entity({ name: string(), allowed: boolean(), rule: nullable(string()) }),
  /** The path rule that decides; null: none matches, so a sign-in is needed. */
  rule: nullable(AccessPathRule),
  /** Sentences, in the order of the checks. */
  why: array(string()),
  method: maybe(z.enum([...signInMethods, 'token'])),
});
export type AccessTest = Described<typeof AccessTest>;
