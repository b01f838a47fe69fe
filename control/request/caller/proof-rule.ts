// Calls that give power beyond a session need a recent proof of who uses it.

import type { Role } from '@underpass/rules/entity/entity.ts';
import { durations } from '@underpass/rules/limits.ts';
import type { Queries } from '../../platform/store/store.ts';
import { refuse } from '../http/refusal.ts';
import type { Caller } from './caller.ts';
import { expectOwnPasskey } from './passkey-rule.ts';

const proofText = `Your last sign-in was more than ${durations.proofMinutes} minutes ago. Confirm that it is you first.`;

/** `role`: the caller's in the call's project; `user` for calls about the caller alone, which need the proof of everybody. */
export async function expectFreshProof(db: Queries, caller: Caller, role: Role | 'user' | undefined): Promise<void> {
  await expectOwnPasskey(db, caller);
  if (!caller.fresh && (role === 'user' || role === 'owner' || caller.operator)) refuse('proofNeeded', proofText);
}
