// The rows of authorizations under way, and of the refresh tokens that programs hold. What a row says is sealed; its id is the
// hash of a secret that only the browser or the program has.

import type { VisitorClaims } from '@underpass/rules/visit/grants.ts';
import { flowContext } from '../../edges/policies/policy-keys.ts';
import type { KeyRing } from '../../platform/secret/key-ring.ts';
import { hashToken, isToken } from '../../platform/secret/token.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import type { Authorization, OAuthClient } from './core/authorization.ts';

/** What the rows of requests, codes and chains hold. */
interface Asked extends Omit<Authorization, 'state'> {
  readonly program: Pick<OAuthClient, 'id' | 'name' | 'isDocument'>;
  /** The resource's host, without a port. */
  readonly host: string;
}

/** An authorization request (RFC 6749 4.1.1): its person is signing in, or reads the question whether the program may act for them. */
export interface AuthorizationRequest extends Asked {
  readonly stage: 'question';
  readonly state: string | undefined;
  /** Hash of the cookie of the browser in which it began. */
  readonly browserHash: string;
  /** Absent until the person has signed in. */
  readonly claims?: VisitorClaims;
}

export interface Code extends Asked {
  readonly stage: 'code';
  readonly claims: VisitorClaims;
  readonly untilMs: number;
}

/** A code that was used: if it comes again, the tokens that it gave end (RFC 6749 4.1.2). */
interface SpentCode {
  readonly stage: 'spent';
  readonly chainId: string;
}

/** All refresh tokens that follow from one code. */
export interface Chain extends Asked {
  readonly stage: 'chain';
  readonly claims: VisitorClaims;
  /** Hash of the refresh token's secret that is valid now. */
  readonly current: string;
}

type FlowContent = AuthorizationRequest | Code | SpentCode | Chain;
const kindOf = { question: 'grant', code: 'grant', spent: 'grant', chain: 'refresh' } as const;

export interface AuthorizationFlow<C extends FlowContent = FlowContent> {
  readonly id: string;
  readonly policyId: string;
  readonly content: C;
  readonly sealed: string;
}

export async function insertFlow(
  db: Queries,
  keyRing: KeyRing,
  secret: string,
  { policyId, content, expiresAt }: { policyId: string; content: FlowContent; expiresAt: number },
  nowMs: number,
): Promise<void> {
  const id = hashToken(secret);
  const sealed = keyRing.seal(JSON.stringify(content), flowContext(id));
  const row = { id, policy_id: policyId, kind: kindOf[content.stage], content_sealed: sealed, tries: 0 };
  await db
    .insertInto('access_flows')
    .values({ ...row, created_at: nowMs, expires_at: expiresAt })
    .execute();
}

export async function findFlow<S extends FlowContent['stage']>(
  db: Queries,
  keyRing: KeyRing,
  secret: string,
  stages: readonly S[],
  nowMs: number,
): Promise<AuthorizationFlow<Extract<FlowContent, { stage: S }>> | undefined> {
  if (!isToken(secret)) return undefined;
  return readFlow(db, keyRing, hashToken(secret), stages, nowMs);
}

/** Reads a flow by the id of its row, which is no secret: check elsewhere that the caller may use the flow. */
export async function readFlow<S extends FlowContent['stage']>(
  db: Queries,
  keyRing: KeyRing,
  id: string,
  stages: readonly S[],
  nowMs: number,
): Promise<AuthorizationFlow<Extract<FlowContent, { stage: S }>> | undefined> {
  const row = await db.selectFrom('access_flows').selectAll().where('id', '=', id).executeTakeFirst();
  if (row === undefined || row.expires_at <= nowMs || !['grant', 'refresh'].includes(row.kind)) return undefined;
  const content = openFlow(keyRing, row);
  if (content === undefined || !(stages as readonly string[]).includes(content.stage)) return undefined;
  return { id, policyId: row.policy_id, content: content as never, sealed: row.content_sealed };
}

/** Undefined for a row that was sealed by a key that is gone. */
export const openFlow = (
  keyRing: KeyRing,
  { id, content_sealed: sealed }: Pick<Schema['access_flows'], 'id' | 'content_sealed'>,
): FlowContent | undefined =>
  keyRing.canOpen(sealed) ? (JSON.parse(keyRing.open(sealed, flowContext(id))) as FlowContent) : undefined;

/** False if another request changed or took the row since it was read. */
export async function changeFlow(db: Queries, keyRing: KeyRing, flow: AuthorizationFlow, content: FlowContent): Promise<boolean> {
  const changed = await db
    .updateTable('access_flows')
    .set({ content_sealed: keyRing.seal(JSON.stringify(content), flowContext(flow.id)) })
    .where('id', '=', flow.id)
    .where('content_sealed', '=', flow.sealed)
    .executeTakeFirst();
  return changed.numUpdatedRows > 0n;
}

/** False if it was gone already. */
export const deleteFlow = async (db: Queries, id: string): Promise<boolean> =>
  (await db.deleteFrom('access_flows').where('id', '=', id).executeTakeFirst()).numDeletedRows > 0n;
