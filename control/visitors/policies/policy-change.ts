// What a call asks to change in an access policy, and what the audit log says about it: never a secret.

import { parseSingleLine } from '@underpass/rules/text/single-line.ts';
import { parseOrigins } from '@underpass/rules/visit/parse-origins.ts';
import { parsePathRules } from '@underpass/rules/visit/parse-path-rules.ts';
import { parsePeople } from '@underpass/rules/visit/parse-people.ts';
import { clientSecretMaxChars, type GivenProvider, type Provider, parseProvider } from '@underpass/rules/visit/parse-provider.ts';
import {
  defaultTokenHeader,
  parseSessionHours,
  parseTokenHeader,
  parseVisitPassword,
} from '@underpass/rules/visit/parse-settings.ts';
import { policyLimits } from '@underpass/rules/visit/policy-limits.ts';
import { hashPassword } from '../../edges/policies/password.ts';
import { type PolicyContent, providerId } from '../../edges/policies/policy-content.ts';
import { listChange } from '../../request/caller/audit.ts';
import type { CallContext } from '../../request/caller/call.ts';
import { orInvalid, refuse } from '../../request/http/refusal.ts';

type PolicyBody = CallContext<'updateAccessPolicy'>['body'];

/** A new policy admits nobody until its maker says whom. */
export const newContent: PolicyContent = {
  rules: [],
  members: false,
  people: [],
  provider: null,
  tokenHeader: defaultTokenHeader,
  origins: [],
  sessionHours: policyLimits.sessionHoursDefault,
  log: true,
};

/** A field that is undefined stays as it is; null removes. */
export interface PolicyChange {
  readonly content: Partial<PolicyContent>;
  readonly clientSecret: string | null | undefined;
  readonly passwordHash: string | null | undefined;
}

type Options = { readonly plainLoopback: boolean };
type GivenSecret = GivenProvider & { readonly clientSecret?: string | null | undefined };

const parseContent = (body: PolicyBody, options: Options): Partial<PolicyContent> => ({
  ...(body.rules === undefined ? {} : { rules: orInvalid(parsePathRules(body.rules)) }),
  ...(body.members === undefined ? {} : { members: body.members }),
  ...(body.people === undefined ? {} : { people: orInvalid(parsePeople(body.people)) }),
  ...(body.provider === undefined ? {} : { provider: parseGiven(body.provider, options) }),
  ...(body.tokenHeader === undefined ? {} : { tokenHeader: orInvalid(parseTokenHeader(body.tokenHeader)) }),
  ...(body.origins === undefined ? {} : { origins: orInvalid(parseOrigins(body.origins)) }),
  ...(body.sessionHours === undefined ? {} : { sessionHours: orInvalid(parseSessionHours(body.sessionHours)) }),
  ...(body.log === undefined ? {} : { log: body.log }),
});

const parseGiven = (given: false | GivenSecret, options: Options): Provider | null =>
  given === false ? null : orInvalid(parseProvider(given, options));

function parseSecret(given: false | GivenSecret | undefined): string | null | undefined {
  if (given === false) return null;
  if (given?.clientSecret === undefined || given.clientSecret === null) return undefined;
  const secret = parseSingleLine(given.clientSecret, { required: false, maxChars: clientSecretMaxChars });
  return secret.ok ? secret.value || null : refuse('invalid', `Client secret: ${secret.message}`);
}

/** Hashes a new password, which takes a while: before the transaction. */
export async function parseChange(body: PolicyBody, options: Options): Promise<PolicyChange> {
  const content = parseContent(body, options);
  const clientSecret = parseSecret(body.provider);
  if (body.password === undefined) return { content, clientSecret, passwordHash: undefined };
  const passwordHash = body.password === '' ? null : await hashPassword(orInvalid(parseVisitPassword(body.password)));
  return { content, clientSecret, passwordHash };
}

/** Stops a person who may change the policy from making control send the secret to a server of their own. */
export function refuseMovedSecret(before: PolicyContent, change: PolicyChange, hasSecret: boolean): void {
  const { provider } = change.content;
  const moves = provider && before.provider !== null && providerId(provider) !== providerId(before.provider);
  if (moves && hasSecret && change.clientSecret === undefined)
    refuse('invalid', 'Enter the client secret again, because the issuer or the client ID has changed.');
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** The fields that differ, as the audit log shows them, and what they were before. */
export function describeChange(
  before: PolicyContent,
  after: PolicyContent,
  { clientSecret, passwordHash }: PolicyChange,
): Readonly<Record<string, unknown>> {
  const names = (Object.keys(after) as (keyof PolicyContent)[]).filter((name) => !isSame(before[name], after[name]));
  const replaced = before === newContent ? [] : names.filter((name) => name !== 'people');
  return {
    ...Object.fromEntries(names.map((name) => [name, name === 'people' ? listChange(before.people, after.people) : after[name]])),
    ...(clientSecret === undefined ? {} : { clientSecret: clientSecret === null ? 'removed' : 'changed' }),
    ...(passwordHash === undefined ? {} : { password: passwordHash === null ? 'removed' : 'changed' }),
    ...(replaced.length === 0 ? {} : { before: Object.fromEntries(replaced.map((name) => [name, before[name]])) }),
  };
}
