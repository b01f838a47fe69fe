// Writes the sign-in log: who signed in where and how, and who was refused and why. The policy can switch it off.

import type { AccessSignIn } from '@underpass/rules/visit/access-policy.ts';
import { addSignIn } from '../../edges/feed/usage-rows.ts';
import { hasRoom, type Limiter } from '../../platform/limit/limiter.ts';
import { createId } from '../../platform/store/id.ts';
import type { Store } from '../../platform/store/store.ts';
import type { Visit } from './visit-deps.ts';

interface SignInOutcome {
  /** An e-mail address or a name; empty if the visitor is unknown. */
  readonly who: string;
  readonly method: AccessSignIn['method'];
  /** One sentence; empty if allowed. */
  readonly reason: string;
}

const whoMaxChars = 254;

type LoggedAttempt = Pick<Visit, 'policy' | 'address' | 'nowMs'>;

/** Anybody can cause refusals, so a policy logs only so many of them: a flood cannot fill the database. */
const isLogged = (limiter: Limiter, { policy }: LoggedAttempt, reason: string): Promise<boolean> =>
  reason === '' ? Promise.resolve(true) : hasRoom(limiter, 'accessRefusalInLog', policy.policyId);

export async function logSignIn(
  { store, limiter }: { readonly store: Store; readonly limiter: Limiter },
  attempt: LoggedAttempt,
  { who, method, reason }: SignInOutcome,
): Promise<void> {
  const { policy, address, nowMs } = attempt;
  if (reason === '') await addSignIn(store.db, policy.projectId, nowMs);
  if (!policy.log || !(await isLogged(limiter, attempt, reason))) return;
  await store.db
    .insertInto('access_sign_ins')
    .values({
      id: createId(nowMs),
      project_id: policy.projectId,
      policy: policy.policyName,
      host: policy.host,
      who: who.slice(0, whoMaxChars),
      method,
      allowed: reason === '' ? 1 : 0,
      reason,
      address,
      at: nowMs,
    })
    .execute();
}
