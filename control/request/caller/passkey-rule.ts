// Where a passkey is required: in projects whose owners require it, of operators if the service requires it of them, and of people
// who have one for what outlives a session.

import { linkNotEnoughMessage, passkeyNeededMessage } from '@underpass/rules/people/passkey.ts';
import type { Queries } from '../../platform/store/store.ts';
import { refuse } from '../http/refusal.ts';
import type { Caller } from './caller.ts';

/** The rule's name in the table `settings`. Only operators change it. */
export const operatorRule = 'operators-need-passkey';

export async function needsOperatorPasskey(db: Queries): Promise<boolean> {
  const row = await db.selectFrom('settings').select('value').where('name', '=', operatorRule).executeTakeFirst();
  return row !== undefined && row.value !== 'false';
}

/** True for a project that the caller's session, or the person behind an API token, may not open without a passkey. */
export const isClosed = (project: { readonly passkeyRequired: boolean }, { passkey }: Pick<Caller, 'passkey'>): boolean =>
  project.passkeyRequired && passkey === 'none';

/** A sign-in by e-mail link is not enough here, however recent. */
export function expectPasskey(required: boolean, { passkey }: Pick<Caller, 'passkey'>): void {
  if (required && passkey === 'none') refuse('passkeyNeeded', passkeyNeededMessage);
}

export const hasPasskey = async (db: Queries, userId: string): Promise<boolean> =>
  (await db.selectFrom('passkeys').select('id').where('user_id', '=', userId).limit(1).executeTakeFirst()) !== undefined;

/** An e-mail link alone gives and ends nothing lasting for a person with a passkey. A recovery code stands in for it. */
export async function expectOwnPasskey(db: Queries, { userId, passkey }: Pick<Caller, 'userId' | 'passkey'>): Promise<void> {
  if (passkey !== 'fresh' && (await hasPasskey(db, userId))) refuse('passkeyNeeded', linkNotEnoughMessage);
}
