// The password of a policy, the same for everybody who knows it.

import { addressKey, networkKey } from '@underpass/rules/address.ts';
import { checkPassword } from '../admission/password.ts';
import { hasRoom } from '../limit/limiter.ts';
import { claimsOf, finishSignIn } from './finish.ts';
import { logSignIn } from './sign-in-log.ts';
import { renderSignIn } from './sign-in-page.ts';
import type { Visit, VisitDeps } from './visit-deps.ts';

const wrongText = 'This password is wrong.';

/**
 * Counts every try before its check, so that tries at the same time count too, and takes back a right one. Windows of growing length:
 * a person who mistypes waits a minute, a script a day. Once a policy's own share is used up, each network has a few tries.
 */
const countTry = async (deps: VisitDeps, { policy, address }: Visit): Promise<() => Promise<void>> => {
  const { limiter } = deps;
  const key = `${policy.policyId} ${addressKey(address)}`;
  const windows = ['accessPasswordSoon', 'accessPassword', 'accessPasswordDay'] as const;
  for (const name of windows) await limiter.take(name, key);
  const isShared = await hasRoom(limiter, 'accessPasswordPerPolicy', policy.policyId);
  if (!isShared) await limiter.take('accessPasswordPerNetwork', `${policy.policyId} ${networkKey(address)}`);
  return async () => {
    for (const name of windows) await limiter.giveBack(name, key);
    if (isShared) await limiter.giveBack('accessPasswordPerPolicy', policy.policyId);
  };
};

export const signInByPassword = async (
  deps: VisitDeps,
  visit: Visit,
  { password }: { readonly password: string },
): Promise<Response> => {
  const { passwordHash, grants } = visit.policy;
  if (passwordHash === null || grants.passwordId === null) return renderSignIn(visit);
  const takeBack = await countTry(deps, visit);
  if (!(await checkPassword(passwordHash, password))) {
    await logSignIn(deps, visit, { who: '', method: 'password', reason: 'The password was wrong.' });
    return renderSignIn(visit, { field: 'password', message: wrongText }, 403);
  }
  await takeBack();
  const { passwordId } = grants;
  return finishSignIn(deps, visit, claimsOf(visit, { method: 'password', subject: passwordId, source: passwordId }));
};
