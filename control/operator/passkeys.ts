// The operator's part in passkeys: whether operators need one, and help for users who have lost theirs.

import type { PasskeyRule } from '@underpass/rules/entity/resource.ts';
import { ownPasskeyFirstMessage } from '@underpass/rules/people/passkey.ts';
import { endVisitsOfUser } from '../edges/policies/end-visits.ts';
import { guardedTunnelsOf } from '../edges/policies/guarded-tunnels.ts';
import { removeAllPasskeys } from '../people/passkey/passkeys.ts';
import { tellNarrowed } from '../platform/bus/narrowed-rights.ts';
import { passkeyMail } from '../platform/mail/mails.ts';
import { writeSetting } from '../platform/store/setting.ts';
import type { Caller } from '../request/caller/caller.ts';
import { addNotices } from '../request/caller/notice.ts';
import { needsOperatorPasskey, operatorRule } from '../request/caller/passkey-rule.ts';
import { orMissing, refuse } from '../request/http/refusal.ts';
import { type ActingOperator, auditOperator } from './actor.ts';

export const readPasskeyRule = async ({ deps }: ActingOperator): Promise<PasskeyRule> => ({
  required: await needsOperatorPasskey(deps.store.db),
});

/** Only an operator with a passkey can turn the rule on: it would lock out an operator without one. */
export async function changePasskeyRule(operator: ActingOperator, caller: Caller, required: boolean): Promise<PasskeyRule> {
  const { deps } = operator;
  if (required && caller.passkey === 'none') refuse('conflict', ownPasskeyFirstMessage);
  await deps.store.write(async (trx) => {
    await writeSetting(trx, operatorRule, required);
    await auditOperator(trx, operator, { action: 'operator.require-passkey', target: 'operators', detail: { required } });
  });
  return { required };
}

/** The user signs in by e-mail and adds a new passkey. Their sessions that a passkey signed in end. */
export async function removeUserPasskeys(operator: ActingOperator, id: string): Promise<{ readonly email: string }> {
  const { deps, nowMs } = operator;
  const { email, tunnels } = await deps.store.write(async (trx) => {
    const query = trx.selectFrom('users').select('email').where('id', '=', id);
    const user = orMissing(await query.executeTakeFirst(), 'User');
    if (!(await removeAllPasskeys(trx, id))) refuse('conflict', 'This user has no passkey.');
    await auditOperator(trx, operator, { action: 'passkey.remove', target: user.email });
    await addNotices(trx, [user.email], passkeyMail({ kind: 'removed-by-operator' }, deps.origin), nowMs);
    await endVisitsOfUser(trx, id, nowMs);
    return { email: user.email, tunnels: await guardedTunnelsOf(trx, id) };
  });
  deps.feed.tunnelsChanged(tunnels);
  deps.jobs.wake();
  tellNarrowed(deps.bus, id);
  return { email };
}
