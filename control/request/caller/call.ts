// The types that connect the call table with its handlers: a handler gets what its row promises, already checked.

import type { BodyOf, QueryOf, SegmentsOf } from '@underpass/rules/api/call.ts';
import type { CallName, Calls } from '@underpass/rules/api/calls.ts';
import type { Caller } from './caller.ts';
import type { Membership } from './membership.ts';

type Row<Name extends CallName> = Calls[Name];
type CallerOf<Who> = Who extends 'anyone' ? Caller | null : Caller;
/** Only a call whose `who` is an action of the role table has a project. */
type MembershipOf<Who> = Who extends 'anyone' | 'user' | 'operator' ? null : Membership;

export interface CallContext<Name extends CallName = CallName> {
  readonly request: Request;
  readonly segments: SegmentsOf<Row<Name>>;
  readonly query: QueryOf<Row<Name>>;
  readonly body: BodyOf<Row<Name>>;
  readonly caller: CallerOf<Row<Name>['who']>;
  readonly membership: MembershipOf<Row<Name>['who']>;
  /** The caller's address, behind trusted proxies too. */
  readonly address: string;
  readonly nowMs: number;
}

/** A plain value becomes JSON with 200; undefined becomes 204; a Response is sent as it is. */
export type Handler<Name extends CallName> = (context: CallContext<Name>) => Promise<unknown>;
export type Handlers<Names extends CallName = CallName> = { readonly [Name in Names]: Handler<Name> };

/** A handler that is not given yet what its area needs of control. */
type Unbound<Deps, Name extends CallName> = (deps: Deps, context: CallContext<Name>) => Promise<unknown>;

/** The handlers of an area's calls, which `bindHandlers` gives what the area needs. */
export type AreaHandlers<Deps> = { readonly [Name in CallName]?: Unbound<Deps, Name> };

export function bindHandlers<Deps, Names extends CallName>(
  deps: Deps,
  area: { readonly [Name in Names]: Unbound<Deps, Name> },
): Handlers<Names> {
  const bound = Object.entries<Unbound<Deps, never>>(area).map(([name, run]) => [name, (context: never) => run(deps, context)]);
  return Object.fromEntries(bound) as Handlers<Names>;
}
