// Passkeys and recovery codes in the store, and whether a passkey is required of a user.

import { randomInt } from 'node:crypto';
import { limits } from '@underpass/rules/limits.ts';
import { generateRecoveryCode, isNextSignCount } from '@underpass/rules/people/passkey.ts';
import { hashToken } from '../../platform/secret/token.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import { needsOperatorPasskey } from '../../request/caller/passkey-rule.ts';

export const listPasskeys = (db: Queries, userId: string): Promise<Schema['passkeys'][]> =>
  db.selectFrom('passkeys').selectAll().where('user_id', '=', userId).orderBy('id').execute();

/** The passkey, if its user may sign in. */
export const findPasskey = (db: Queries, credentialId: string) =>
  db
    .selectFrom('passkeys as p')
    .innerJoin('users as u', 'u.id', 'p.user_id')
    .selectAll('p')
    .select('u.email')
    .where('p.credential_id', '=', credentialId)
    .where('u.suspended_at', 'is', null)
    .executeTakeFirst();

/** False if the count does not follow the stored one: of two answers with the same count, only one is taken. */
export async function takeSignCount(
  trx: Queries,
  { id, sign_count }: Pick<Schema['passkeys'], 'id' | 'sign_count'>,
  given: number,
  nowMs: number,
): Promise<boolean> {
  if (!isNextSignCount(sign_count, given)) return false;
  const taken = await trx
    .updateTable('passkeys')
    .set({ sign_count: given, used_at: nowMs })
    .where('id', '=', id)
    .where('sign_count', '=', sign_count)
    .executeTakeFirst();
  return taken.numUpdatedRows > 0n;
}

/** The sessions that a removed passkey signed in end, and the others must be confirmed again: it may have confirmed them. */
export async function distrustPasskey(trx: Queries, { id, user_id }: Schema['passkeys'], except: string): Promise<void> {
  await trx.deleteFrom('sessions').where('passkey_id', '=', id).where('id', '<>', except).execute();
  await trx.updateTable('sessions').set({ passkey_at: null }).where('user_id', '=', user_id).where('id', '<>', except).execute();
}

/** True for a member of a project that requires one, and for operators if the operator rule does. */
export async function isPasskeyRequired(db: Queries, userId: string): Promise<boolean> {
  const project = await db
    .selectFrom('members as m')
    .innerJoin('projects as p', 'p.id', 'm.project_id')
    .select('p.id')
    .where('m.user_id', '=', userId)
    .where('p.passkey_required', '=', 1)
    .executeTakeFirst();
  if (project) return true;
  const user = await db.selectFrom('users').select('operator').where('id', '=', userId).executeTakeFirst();
  return user?.operator === 1 && needsOperatorPasskey(db);
}

/** Nothing that the removed passkeys proved counts any longer. Answers whether there were any. */
export async function removeAllPasskeys(trx: Queries, userId: string): Promise<boolean> {
  const removed = await trx.deleteFrom('passkeys').where('user_id', '=', userId).executeTakeFirst();
  await trx.deleteFrom('sessions').where('user_id', '=', userId).where('passkey_id', 'is not', null).execute();
  await forgetProofs(trx, userId);
  return removed.numDeletedRows > 0n;
}

/** Deletes what belongs to passkeys, for a user without one: recovery codes and earlier proofs. */
export async function forgetProofs(trx: Queries, userId: string): Promise<void> {
  await trx.deleteFrom('recovery_codes').where('user_id', '=', userId).execute();
  await trx.updateTable('sessions').set({ passkey_at: null }).where('user_id', '=', userId).execute();
}

const hashCode = (code: string): string => hashToken(`recovery ${code}`);

export async function replaceRecoveryCodes(trx: Queries, userId: string, nowMs: number): Promise<string[]> {
  const codes = Array.from({ length: limits.recoveryCodes }, () => generateRecoveryCode((bound) => randomInt(bound)));
  await trx.deleteFrom('recovery_codes').where('user_id', '=', userId).execute();
  const rows = codes.map((code) => ({ code_hash: hashCode(code), user_id: userId, created_at: nowMs }));
  await trx.insertInto('recovery_codes').values(rows).execute();
  return codes;
}

/** True once for a code: one statement finds and deletes it. */
export async function useRecoveryCode(trx: Queries, userId: string, code: string): Promise<boolean> {
  const query = trx.deleteFrom('recovery_codes').where('code_hash', '=', hashCode(code)).where('user_id', '=', userId);
  return (await query.executeTakeFirst()).numDeletedRows > 0n;
}

export const countRecoveryCodes = async (db: Queries, userId: string): Promise<number> =>
  (await db.selectFrom('recovery_codes').select('code_hash').where('user_id', '=', userId).execute()).length;
