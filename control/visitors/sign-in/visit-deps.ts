// What the sign-in of visitors needs from the rest of control.

import type { VisitorClaims } from '@underpass/rules/visit/grants.ts';
import type { DnsPort } from '../../edges/dns/port.ts';
import type { CallDeps } from '../../request/deps.ts';
import type { SignInPolicy } from '../policies/find-sign-in-policy.ts';
import type { SignInTarget } from './target.ts';

export interface VisitDeps
  extends Pick<CallDeps, 'store' | 'bus' | 'keyRing' | 'clock' | 'log' | 'limiter' | 'jobs' | 'cookies'> {
  /** Control's public URL without a trailing slash. */
  readonly origin: string;
  readonly production: boolean;
  readonly dns: Pick<DnsPort, 'lookup'>;
  /** Private networks where identity providers may be. */
  readonly providerNetworks: readonly string[];
  readonly programs: WaitingRequests;
}

/** Authorization requests of programs that wait for their visitor to sign in. `headers`: of the browser, which must have begun it. */
export interface WaitingRequests {
  /** Undefined if there is none, or it has ended. */
  readonly find: (id: string, headers: Headers) => Promise<{ readonly host: string; readonly programName: string } | undefined>;
  /** Leads to the page that asks whether the program may act for the visitor. */
  readonly finish: (id: string, headers: Headers, claims: VisitorClaims) => Promise<Response>;
}

/** One request of a sign-in, with its target and the policy that decides. */
export interface Visit {
  readonly target: SignInTarget;
  readonly policy: SignInPolicy;
  /** The program that asks; undefined for a visit with a browser. */
  readonly programName: string | undefined;
  readonly request: Request;
  readonly address: string;
  readonly nowMs: number;
}
