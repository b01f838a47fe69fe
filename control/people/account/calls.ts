// The calls with which users download what the service holds about them, and delete their account.

import { confirmEmailMessage, confirms } from '@underpass/rules/people/account.ts';
import { tellNarrowed } from '../../platform/bus/narrowed-rights.ts';
import { auditCall } from '../../request/caller/audit.ts';
import type { AreaHandlers, CallContext } from '../../request/caller/call.ts';
import { expectPasskey } from '../../request/caller/passkey-rule.ts';
import type { CallDeps } from '../../request/deps.ts';
import { renderCookie } from '../../request/http/cookie.ts';
import { orMissing, refuse } from '../../request/http/refusal.ts';
import { isPasskeyRequired } from '../passkey/passkeys.ts';
import { eraseUser } from './erasure.ts';
import { answerPersonalFile } from './export.ts';

type AccountDeps = Pick<CallDeps, 'store' | 'feed' | 'jobs' | 'bus' | 'cookies' | 'limiter' | 'origin'>;

async function exportAccount(deps: AccountDeps, context: CallContext<'exportAccount'>): Promise<Response> {
  const { caller, nowMs } = context;
  await deps.limiter.take('accountExportPerUser', caller.userId);
  await deps.store.write((trx) => auditCall(trx, context, 'account.export', caller.email));
  return answerPersonalFile(deps.store.db, { person: { id: caller.userId, email: caller.email }, origin: deps.origin, nowMs });
}

async function deleteAccount(deps: AccountDeps, { caller, body, nowMs }: CallContext<'deleteAccount'>): Promise<Response> {
  if (!confirms(body.email, caller.email)) refuse('invalid', confirmEmailMessage);
  // With the account goes every project that only this person is in.
  expectPasskey(await isPasskeyRequired(deps.store.db, caller.userId), caller);
  const tunnelIds = await deps.store.write(async (trx) => {
    const user = await trx.selectFrom('users').selectAll().where('id', '=', caller.userId).executeTakeFirst();
    return eraseUser(trx, { user: orMissing(user, 'User'), byOperator: false, nowMs });
  });
  deps.feed.tunnelsChanged(tunnelIds);
  deps.jobs.wake();
  tellNarrowed(deps.bus, caller.userId);
  const cookie = renderCookie(deps.cookies.session, '', 0, deps.cookies.secure);
  return new Response(null, { status: 204, headers: { 'set-cookie': cookie } });
}

export const accountHandlers = { exportAccount, deleteAccount } satisfies AreaHandlers<AccountDeps>;
