// The part of an access policy's row that is no secret: JSON, in the column `content`.

import { createHash } from 'node:crypto';
import { isCallRule, withoutCalls } from '@underpass/rules/visit/call-rule.ts';
import type { Provider } from '@underpass/rules/visit/parse-provider.ts';
import type { PathRule } from '@underpass/rules/visit/path-rule.ts';

export interface PolicyContent {
  /** The row keeps rules about calls apart, so that an earlier version denies what they match. */
  readonly rules: readonly PathRule[];
  readonly members: boolean;
  readonly people: readonly string[];
  readonly provider: Provider | null;
  readonly tokenHeader: string;
  readonly origins: readonly string[];
  readonly sessionHours: number;
  readonly log: boolean;
}

const isSameRules = (one: readonly PathRule[], other: readonly PathRule[]): boolean =>
  one.length === other.length &&
  one.every(({ path, action }, index) => path === other[index]?.path && action === other[index]?.action);

/** Throws if the text is not a policy; the caller must then deny. */
export function readContent(text: string): PolicyContent {
  const stored = JSON.parse(text) as PolicyContent & { readonly callRules?: readonly PathRule[] };
  // Rows of an earlier version have no origins and no rules about calls.
  const { callRules, ...rest } = stored;
  // An earlier version that changes a policy keeps what it does not know: its own rules are then the newer ones.
  const isCurrent = callRules !== undefined && isSameRules(withoutCalls(callRules), rest.rules);
  const content = { ...rest, rules: isCurrent ? callRules : rest.rules, origins: rest.origins ?? [] };
  const { rules, people, provider, origins } = content;
  const lists: unknown[] = [rules, people, origins, ...(provider === null ? [] : [provider.people, provider.groups])];
  if (lists.every((list) => Array.isArray(list))) return content;
  throw new Error('access policy: its row holds no policy');
}

export const writeContent = (content: PolicyContent): string =>
  JSON.stringify(
    content.rules.some(isCallRule) ? { ...content, rules: withoutCalls(content.rules), callRules: content.rules } : content,
  );

const idOf = (facts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(facts)).digest('base64url').slice(0, 16);

/** Names the party that the client secret is for. */
export const providerId = ({ issuer, clientId }: Pick<Provider, 'issuer' | 'clientId'>): string => idOf([issuer, clientId]);

/** Names the provider in sessions: another issuer, client or claim of groups ends them. */
export const sessionSource = ({ issuer, clientId, groupClaim }: Provider): string => idOf([issuer, clientId, groupClaim]);
