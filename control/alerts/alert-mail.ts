// Sends one mail about alerts, with the link that ends such mails. A person who has left or switched the mails off gets none.

import type { JobPayloads } from '../platform/job/queue.ts';
import type { SendMail } from '../platform/mail/mail.ts';
import { withAlertLinks } from '../platform/mail/mails.ts';
import type { Queries, Store } from '../platform/store/store.ts';
import type { CallDeps } from '../request/deps.ts';
import { wantsMail } from './mailing.ts';
import { unsubscribeUrl } from './unsubscribe.ts';

interface AlertMailDeps extends Pick<CallDeps, 'keyRing' | 'clock'> {
  readonly store: Pick<Store, 'db'>;
  readonly sendMail: SendMail;
  readonly settings: { readonly origin: string };
}

/** The address that the member has now. */
async function findReader(db: Queries, projectId: string, userId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('members as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .leftJoin('alert_mailings as a', (join) =>
      join.onRef('a.user_id', '=', 'm.user_id').onRef('a.project_id', '=', 'm.project_id'),
    )
    .select(['u.email', 'm.role', 'a.mail'])
    .where('m.project_id', '=', projectId)
    .where('m.user_id', '=', userId)
    .where('u.suspended_at', 'is', null)
    .executeTakeFirst();
  return row && wantsMail(row.role, row.mail) ? row.email : undefined;
}

export async function sendAlertMail(
  deps: AlertMailDeps,
  { projectId, userId, ...mail }: JobPayloads['alert-mail'],
): Promise<void> {
  const { origin } = deps.settings;
  const to = await findReader(deps.store.db, projectId, userId);
  if (to === undefined) return;
  const unsubscribe = unsubscribeUrl(deps.keyRing, origin, { projectId, userId }, deps.clock());
  const alerts = `${origin}/projects/${projectId}/alerts`;
  await deps.sendMail({ to, ...withAlertLinks(mail, { alerts, unsubscribe }), unsubscribe });
}
