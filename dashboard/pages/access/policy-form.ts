// The form of an access policy: its values, and the change that a save sends. Pure.

import type { accessCalls } from '@underpass/rules/api/access-calls.ts';
import type { PayloadOf } from '@underpass/rules/api/call.ts';
import { accept, acceptFields, addWith, collectErrors, type Parsed, type ParsedForm } from '@underpass/rules/parsed.ts';
import { counted } from '@underpass/rules/text/counted.ts';
import { splitEntries } from '@underpass/rules/text/typed-list.ts';
import type { AccessPolicy } from '@underpass/rules/visit/access-policy.ts';
import type { DescribedPolicy } from '@underpass/rules/visit/describe.ts';
import { parseOrigin, parseOrigins } from '@underpass/rules/visit/parse-origins.ts';
import { parsePathRules } from '@underpass/rules/visit/parse-path-rules.ts';
import { parsePeople, parsePerson } from '@underpass/rules/visit/parse-people.ts';
import { type GivenProvider, parseProvider } from '@underpass/rules/visit/parse-provider.ts';
import { parseTokenHeader, parseVisitPassword } from '@underpass/rules/visit/parse-settings.ts';
import type { PathAction } from '@underpass/rules/visit/path-rule.ts';

/** A rule that is being edited. `id` stays with it when it moves. */
export interface TypedRule {
  readonly id: number;
  readonly path: string;
  readonly action: PathAction;
}

export interface PolicyValues {
  readonly members: boolean;
  readonly people: readonly string[];
  /** Typed but not yet added, like the other fields that end in `Pending`. */
  readonly peoplePending: string;
  readonly hasProvider: boolean;
  readonly issuer: string;
  readonly clientId: string;
  /** Empty: the saved secret stays. */
  readonly clientSecret: string;
  readonly label: string;
  readonly providerPeople: readonly string[];
  readonly providerPeoplePending: string;
  readonly groupClaim: string;
  readonly groups: readonly string[];
  readonly groupsPending: string;
  readonly hasPassword: boolean;
  /** Empty: the saved password stays. */
  readonly password: string;
  readonly rules: readonly TypedRule[];
  readonly origins: readonly string[];
  readonly originsPending: string;
  readonly sessionHours: string;
  readonly tokenHeader: string;
  readonly log: boolean;
}

export type PolicyChange = PayloadOf<typeof accessCalls.updateAccessPolicy>;

const noProvider = { issuer: '', clientId: '', label: '', people: [], groupClaim: 'groups', groups: [] };

export function valuesOf(policy: AccessPolicy): PolicyValues {
  const { issuer, clientId, label, people, groupClaim, groups } = policy.provider ?? noProvider;
  return {
    members: policy.members,
    people: policy.people,
    peoplePending: '',
    hasProvider: policy.provider !== null,
    issuer,
    clientId,
    clientSecret: '',
    label,
    providerPeople: people,
    providerPeoplePending: '',
    groupClaim,
    groups,
    groupsPending: '',
    hasPassword: policy.password,
    password: '',
    rules: policy.rules.map(({ path, action }, id) => ({ id, path, action })),
    origins: policy.origins,
    originsPending: '',
    sessionHours: String(policy.sessionHours),
    tokenHeader: policy.tokenHeader,
    log: policy.log,
  };
}

export const isChanged = (values: PolicyValues, policy: AccessPolicy): boolean =>
  JSON.stringify(comparable(values)) !== JSON.stringify(comparable(valuesOf(policy)));

const comparable = ({ rules, ...values }: PolicyValues) => ({
  ...values,
  rules: rules.map(({ path, action }) => [path, action]),
});

/** `saved`: the policy that the form edits. */
export function parsePolicyValues(values: PolicyValues, saved: AccessPolicy): ParsedForm<PolicyChange, keyof PolicyValues> {
  const parsed = acceptFields({
    people: parseTypedPeople(values.people, values.peoplePending),
    password: parsePassword(values, saved),
    rules: parsePathRules(values.rules),
    tokenHeader: parseTokenHeader(values.tokenHeader),
    origins: parseOrigins([...values.origins, ...splitEntries(values.originsPending)]),
  });
  const provider = parseProviderValues(values);
  if (!parsed.ok || !provider.ok)
    return { ok: false, errors: { ...(parsed.ok ? {} : parsed.errors), ...(provider.ok ? {} : provider.errors) } };
  const { password, ...fields } = parsed.value;
  return accept({
    ...fields,
    ...{ members: values.members, provider: provider.value, log: values.log },
    ...(password === undefined ? {} : { password }),
    sessionHours: Number(values.sessionHours),
  });
}

export const addPerson = addWith(parsePerson);
export const addOrigin = addWith(parseOrigin);

export const parseTypedPeople = (list: readonly string[], pending: string): Parsed<readonly string[]> =>
  parsePeople([...list, ...splitEntries(pending)]);

type Provider = NonNullable<PolicyChange['provider']>;

/** Accepts loopback without TLS: only control knows whether it runs in production, and it checks again. */
const judgeProvider = (given: GivenProvider) => parseProvider(given, { plainLoopback: true });

const goodProvider = { issuer: 'https://accounts.example.com', clientId: 'x', groups: ['x'] };

function parseProviderValues(values: PolicyValues): ParsedForm<Provider, keyof PolicyValues> {
  if (!values.hasProvider) return accept(false);
  const { issuer, clientId, clientSecret, label, groupClaim } = values;
  const people = [...values.providerPeople, ...splitEntries(values.providerPeoplePending)];
  const groups = allGroups(values);
  const whole = judgeProvider({ issuer, clientId, label, people, groupClaim, groups });
  if (whole.ok) return accept({ ...whole.value, ...(clientSecret === '' ? {} : { clientSecret }) });
  // Each field alone, so that each gets its own message.
  const alone = {
    issuer: judgeProvider({ ...goodProvider, issuer }),
    clientId: judgeProvider({ ...goodProvider, clientId }),
    label: judgeProvider({ ...goodProvider, label }),
    providerPeople: judgeProvider({ ...goodProvider, people, groups: groups.length > 0 ? goodProvider.groups : [] }),
    groupClaim: judgeProvider({ ...goodProvider, groupClaim }),
    groups: judgeProvider({ ...goodProvider, groups: groups.length > 0 ? groups : goodProvider.groups }),
  };
  return { ok: false, errors: collectErrors(alone) };
}

/** Names of groups may contain spaces, so only commas, semicolons and line ends separate them. */
export const splitGroups = (text: string): readonly string[] =>
  text
    .split(/[\n,;]+/)
    .map((group) => group.trim())
    .filter((group) => group !== '');

const allGroups = ({ groups, groupsPending }: PolicyValues): readonly string[] => [
  ...new Set([...groups, ...splitGroups(groupsPending)]),
];

/** Undefined: the saved password stays, or there is none. */
function parsePassword({ hasPassword, password }: PolicyValues, saved: AccessPolicy): Parsed<string | undefined> {
  if (!hasPassword) return accept(saved.password ? '' : undefined);
  return password === '' && saved.password ? accept(undefined) : parseVisitPassword(password);
}

/** What the values would admit after a save. */
export const describedPolicyOf = (values: PolicyValues, { tokenCount, linkCount }: AccessPolicy): DescribedPolicy => ({
  members: values.members,
  people: [...values.people, ...splitEntries(values.peoplePending)],
  provider: values.hasProvider
    ? {
        label: values.label,
        people: [...values.providerPeople, ...splitEntries(values.providerPeoplePending)],
        groups: allGroups(values),
      }
    : null,
  password: values.hasPassword,
  tokenCount,
  linkCount,
  rules: values.rules.map(({ path, action }) => ({ path: path.trim(), action })),
});

const sessionChoices = [1, 8, 24, 7 * 24, 30 * 24];

/** Includes a length that the API or the CLI has set. */
export const sessionOptions = (saved: number) =>
  [...new Set([...sessionChoices, saved])]
    .sort((a, b) => a - b)
    .map((hours) => ({ value: String(hours), label: hours % 24 === 0 ? counted(hours / 24, 'day') : counted(hours, 'hour') }));
