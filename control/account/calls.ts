// The call by which people give up their own account.

import { confirmEmailMessage, confirms } from '@underpass/rules/account.ts';
import type { CallContext, Handlers } from '../access/call.ts';
import { tellNarrowed } from '../bus/access.ts';
import { renderCookie } from '../http/cookie.ts';
import { orMissing, refuse } from '../http/refusal.ts';
import { eraseUser } from './erasure.ts';

const deleteAccount = async ({ deps, caller, body, nowMs }: CallContext<'deleteAccount'>): Promise<Response> => {
  if (!confirms(body.email, caller.email)) refuse('invalid', confirmEmailMessage);
  const tunnelIds = await deps.store.write(async (trx) => {
    const user = await trx.selectFrom('users').selectAll().where('id', '=', caller.userId).executeTakeFirst();
    return eraseUser(trx, { user: orMissing(user, 'User'), byOperator: false, nowMs });
  });
  deps.feed.tunnelsChanged(tunnelIds);
  deps.jobs.wake();
  tellNarrowed(deps.bus, caller.userId);
  const cookie = renderCookie(deps.cookies.session, '', 0, deps.cookies.secure);
  return new Response(null, { status: 204, headers: { 'set-cookie': cookie } });
};

export const accountCalls: Handlers<'deleteAccount'> = { deleteAccount };
