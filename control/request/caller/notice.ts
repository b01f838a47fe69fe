// Mails that tell people what gained power over their account, project or installation, in the transaction of the change.

import { addJob } from '../../platform/job/queue.ts';
import type { MailText } from '../../platform/mail/mails.ts';
import type { Queries } from '../../platform/store/store.ts';
import { recordAlert } from './alert.ts';

export async function addNotices(trx: Queries, emails: readonly string[], mail: MailText, nowMs: number): Promise<void> {
  for (const email of emails) await addJob(trx, nowMs, 'notice', { email, ...mail });
}

/** Everybody who owns the project, the new owner included. */
export async function ownersOf(trx: Queries, projectId: string): Promise<string[]> {
  const owners = trx.selectFrom('members as m').innerJoin('users as u', 'u.id', 'm.user_id').select('u.email');
  const active = owners.where('m.project_id', '=', projectId).where('m.role', '=', 'owner').where('u.suspended_at', 'is', null);
  const rows = await active.execute();
  return rows.map(({ email }) => email);
}

interface NewOwner {
  readonly projectId: string;
  /** An e-mail. */
  readonly owner: string;
}

/** Mails every owner, and records the alert for the others. */
export async function tellNewOwner(trx: Queries, { projectId, owner }: NewOwner, mail: MailText, nowMs: number): Promise<void> {
  await addNotices(trx, await ownersOf(trx, projectId), mail, nowMs);
  await recordAlert(trx, projectId, { kind: 'owner-added', person: owner }, nowMs);
}

export async function operatorsOf(trx: Queries): Promise<string[]> {
  const active = trx.selectFrom('users').select('email').where('operator', '=', 1).where('suspended_at', 'is', null);
  return (await active.execute()).map(({ email }) => email);
}
