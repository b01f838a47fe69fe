// Refusals that matter, in the audit log: changes that a known caller may not make, and sign-ins that fail. Bounded: beyond the limit
// of a caller they are refused all the same, without a row.

import type { Call } from '@underpass/rules/api/call.ts';
import { forbiddenMessage } from '@underpass/rules/people/permission.ts';
import { hasRoom, type Limiter } from '../../platform/limit/limiter.ts';
import { hashToken } from '../../platform/secret/token.ts';
import { unlessOutage } from '../../platform/store/outage.ts';
import type { Queries, Store } from '../../platform/store/store.ts';
import { isUnsafe } from '../http/origin.ts';
import type { Refusal, RefusalCode } from '../http/refusal.ts';
import { writeAudit } from './audit.ts';
import type { Caller } from './caller.ts';
import { findMembership } from './membership.ts';

interface RefusalDeps {
  readonly store: Pick<Store, 'db'>;
  readonly limiter: Limiter;
}

interface RefusedCall {
  readonly name: string;
  readonly call: Call;
  readonly caller: Caller;
  readonly refusal: Refusal;
  /** The project that the request names; the caller need not belong to it. */
  readonly projectId: string | undefined;
  readonly address: string;
  readonly nowMs: number;
}

const noted = new Set<RefusalCode>(['forbidden', 'sessionNeeded', 'passkeyNeeded']);

/**
 * A proof that is only too old is left out: the person's own browser meets that every day. `passkeyNeeded` counts only for a
 * session that no passkey has ever confirmed, such as that of a thief who reads the mailbox.
 */
const isNoted = ({ code }: Refusal, { passkey }: Caller): boolean =>
  noted.has(code) && (code !== 'passkeyNeeded' || passkey === 'none');

/** A stranger must not write into a project's log. */
const logOf = async (db: Queries, caller: Caller, projectId: string | undefined): Promise<string | null> =>
  (projectId !== undefined && (await findMembership(db, caller, projectId))?.id) || null;

export async function auditRefusedCall({ store, limiter }: RefusalDeps, refused: RefusedCall): Promise<void> {
  const { name, call, caller, refusal, address, nowMs } = refused;
  if (!isNoted(refusal, caller) || !isUnsafe(call.method)) return;
  if (!(await hasRoom(limiter, 'refusalInAudit', caller.userId))) return;
  const projectId = await logOf(store.db, caller, refused.projectId);
  // Whom to ask is for the caller.
  const why = refusal.message.startsWith(forbiddenMessage) ? forbiddenMessage : refusal.message;
  const detail = { why, ...(caller.token ? { by: 'api-token', apiToken: caller.token.name } : {}) };
  const row = { projectId, actor: caller.email, action: 'call.refuse' as const, target: name, address, detail };
  await unlessOutage(() => writeAudit(store.db, row, nowMs));
}

const findLink = (db: Queries, token: string) =>
  db
    .selectFrom('login_links as l')
    .leftJoin('users as u', 'u.id', 'l.user_id')
    .select(['u.id', 'u.email', 'u.suspended_at', 'l.used_at', 'l.session_id'])
    .where('l.token_hash', '=', hashToken(token))
    .executeTakeFirst();

type Link = Awaited<ReturnType<typeof findLink>>;

function whyRefused(link: Link): string {
  if (!link) return 'unknown link';
  if (link.suspended_at !== null) return 'suspended';
  if (link.session_id !== null) return 'a link that does not sign in';
  return link.used_at === null ? 'expired' : 'used';
}

interface Attempt {
  readonly address: string;
  readonly nowMs: number;
}

interface Person {
  readonly id: string | null;
  readonly email: string | null;
}

/** All sign-ins that fail for no known person share one limit. */
async function writeFailedSignIn(
  { store, limiter }: RefusalDeps,
  { address, nowMs }: Attempt,
  user: Person | undefined,
  why: string,
  actor = 'unknown',
): Promise<void> {
  if (!(await hasRoom(limiter, 'refusalInAudit', user?.id ?? 'unknown'))) return;
  const row = { projectId: null, actor, action: 'session.refuse' as const, target: user?.email ?? '', address };
  await unlessOutage(() => writeAudit(store.db, { ...row, detail: { why } }, nowMs));
}

export async function auditFailedSignIn(deps: RefusalDeps, attempt: Attempt & { readonly token: string }): Promise<void> {
  const link = await findLink(deps.store.db, attempt.token);
  await writeFailedSignIn(deps, attempt, link, whyRefused(link));
}

export async function auditFailedPasskey(deps: RefusalDeps, attempt: Attempt & { readonly credentialId: string }): Promise<void> {
  const user = await deps.store.db
    .selectFrom('passkeys as p')
    .innerJoin('users as u', 'u.id', 'p.user_id')
    .select(['u.id', 'u.email', 'u.suspended_at'])
    .where('p.credential_id', '=', attempt.credentialId)
    .executeTakeFirst();
  const why = user === undefined ? 'unknown passkey' : 'wrong answer of a passkey';
  await writeFailedSignIn(deps, attempt, user, user && user.suspended_at !== null ? 'suspended' : why);
}

/** Notes a wrong proof from somebody who has this person's session. */
export const auditFailedProof = (
  deps: RefusalDeps,
  { caller, address, nowMs }: Attempt & { readonly caller: Caller },
  why: string,
): Promise<void> => writeFailedSignIn(deps, { address, nowMs }, { id: caller.userId, email: caller.email }, why, caller.email);
