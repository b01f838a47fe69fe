// The types that connect the call table with its handlers: a handler gets what its row promises, already checked.

import type { CallName, calls, FieldType, PathNames } from '@underpass/rules/calls.ts';
import type { Caller } from './caller.ts';
import type { Access } from './project-access.ts';

type ValueOf<T extends FieldType> = T extends `string${string}`
  ? T extends `strings${string}`
    ? readonly string[]
    : string
  : T extends `boolean${string}`
    ? boolean
    : T extends `number${string}`
      ? number
      : Readonly<Record<string, number>>;

type FieldsOf<F> = {
  readonly [K in keyof F as F[K] extends `${string}?` ? never : K]: F[K] extends FieldType ? ValueOf<F[K]> : never;
} & {
  readonly [K in keyof F as F[K] extends `${string}?` ? K : never]?: F[K] extends FieldType ? ValueOf<F[K]> : never;
};

/** Form fields are strings, empty if missing: the rules say which are required. */
type FormOf<F> = { readonly [K in keyof F]: string };

type BodyOf<P> = P extends { kind: 'json'; fields: infer F }
  ? FieldsOf<F>
  : P extends { fields: infer F }
    ? FormOf<F>
    : P extends 'text/csv'
      ? string
      : undefined;

type QueryOf<Q extends readonly string[]> = {
  readonly [K in Q[number] as K extends `${string}?` ? never : K]: string;
} & {
  readonly [K in Q[number] as K extends `${infer Name}?` ? Name : never]?: string;
};

type Row<Name extends CallName> = (typeof calls)[Name];
type CallerOf<Who> = Who extends 'anyone' ? Caller | null : Caller;
/** Only a call whose `who` is an action of the role table has a project. */
type AccessOf<Who> = Who extends 'anyone' | 'user' | 'operator' ? null : Access;

export interface CallContext<Name extends CallName = CallName> {
  readonly request: Request;
  readonly segments: Readonly<Record<PathNames<Row<Name>['path']>, string>>;
  readonly query: QueryOf<Row<Name>['query']>;
  readonly body: BodyOf<Row<Name>['payload']>;
  readonly caller: CallerOf<Row<Name>['who']>;
  readonly access: AccessOf<Row<Name>['who']>;
  /** The caller's address, behind trusted proxies too. */
  readonly address: string;
  readonly nowMs: number;
}

/** A plain value becomes JSON with 200; undefined becomes 204; a Response is sent as it is. */
export type Handler<Name extends CallName> = (context: CallContext<Name>) => Promise<unknown>;
export type Handlers<Names extends CallName = CallName> = { readonly [Name in Names]: Handler<Name> };
