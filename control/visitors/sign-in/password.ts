// The password of a policy, the same for everybody who knows it.

import { addressKey, networkKey } from '@underpass/rules/address/address.ts';
import { checkPassword } from '../../edges/policies/password.ts';
import { hasRoom } from '../../platform/limit/limiter.ts';
import { claimsOf, finishSignIn } from './finish.ts';
import { knownBrowserOf, rememberBrowser } from './known-browser.ts';
import { logSignIn } from './sign-in-log.ts';
import { renderSignIn } from './sign-in-page.ts';
import type { Visit, VisitDeps } from './visit-deps.ts';

const wrongText = 'This password is wrong.';

type TakeBack = () => Promise<void>;

/**
 * Windows of growing length: a person who mistypes waits a minute, a script a day. Once a policy's own share is used up, each
 * network has a few tries. The right password of a stranger cannot pass a used-up share: to compare it is to let a guesser guess.
 * Proof of work would sell more guesses: at 20 s of a core for each, a core would buy 4,320 a day; now an address has 60.
 */
async function countStranger({ limiter }: VisitDeps, { policy, address }: Visit): Promise<TakeBack> {
  const key = `${policy.policyId} ${addressKey(address)}`;
  const windows = ['accessPasswordSoon', 'accessPassword', 'accessPasswordDay'] as const;
  for (const name of windows) await limiter.take(name, key);
  const isShared = await hasRoom(limiter, 'accessPasswordPerPolicy', policy.policyId);
  if (!isShared) await limiter.take('accessPasswordPerNetwork', `${policy.policyId} ${networkKey(address)}`);
  return async () => {
    for (const name of windows) await limiter.giveBack(name, key);
    if (isShared) await limiter.giveBack('accessPasswordPerPolicy', policy.policyId);
  };
}

/** Counts every try before its check, so that tries at the same time count too. A right one is taken back. */
async function countTry(deps: VisitDeps, visit: Visit): Promise<TakeBack> {
  const { limiter } = deps;
  const browser = knownBrowserOf(deps, visit);
  const key = `${visit.policy.policyId} ${browser}`;
  const isOwn = browser !== undefined && (await hasRoom(limiter, 'accessPasswordKnown', key));
  return isOwn ? () => limiter.giveBack('accessPasswordKnown', key) : countStranger(deps, visit);
}

export async function signInByPassword(
  deps: VisitDeps,
  visit: Visit,
  { password }: { readonly password: string },
): Promise<Response> {
  const { passwordHash, grants } = visit.policy;
  if (passwordHash === null || grants.passwordId === null) return renderSignIn(visit);
  const takeBack = await countTry(deps, visit);
  if (!(await checkPassword(passwordHash, password))) {
    await logSignIn(deps, visit, { who: '', method: 'password', reason: 'The password was wrong.' });
    return renderSignIn(visit, { field: 'password', message: wrongText }, 403);
  }
  await takeBack();
  const { passwordId } = grants;
  const claims = claimsOf(visit, { method: 'password', subject: passwordId, source: passwordId });
  const answer = await finishSignIn(deps, visit, claims);
  answer.headers.append('set-cookie', rememberBrowser(deps, visit));
  return answer;
}
