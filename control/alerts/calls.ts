// The calls about alerts: the open and recent ones, the caller's own mails, and the waiting time of the project.

import type { AlertPage } from '@underpass/rules/entity/resource.ts';
import { alertLimits } from '@underpass/rules/limits.ts';
import { may } from '@underpass/rules/people/permission.ts';
import { ruleOf } from '@underpass/rules/tunnel/alert.ts';
import type { Schema } from '../platform/store/schema.ts';
import type { Queries, Store } from '../platform/store/store.ts';
import { auditCall } from '../request/caller/audit.ts';
import type { AreaHandlers, CallContext } from '../request/caller/call.ts';
import { refuse } from '../request/http/refusal.ts';
import { factsOf, isKnownKind, toAlert } from './alert-rows.ts';
import { keepMailing, wantsMail } from './mailing.ts';
import { readWaitSeconds } from './waiting-time.ts';

interface AlertCallDeps {
  readonly store: Store;
}

/** The open ones, then the others. Leaves out those whose waiting time runs. */
async function readShown(db: Queries, projectId: string): Promise<readonly Schema['alerts'][]> {
  const opened = db.selectFrom('alerts').selectAll().where('project_id', '=', projectId).where('opened_at', 'is not', null);
  const some = opened.orderBy('id', 'desc').limit(alertLimits.shown);
  const open = await some.where('closed_at', 'is', null).execute();
  return [...open, ...(await some.where('closed_at', 'is not', null).execute())];
}

async function getAlerts({ store: { db } }: AlertCallDeps, { membership, caller }: CallContext<'getAlerts'>): Promise<AlertPage> {
  const { id, role } = membership;
  const own = db.selectFrom('alert_mailings').select('mail').where('project_id', '=', id).where('user_id', '=', caller.userId);
  const [rows, mailing, waitSeconds] = await Promise.all([readShown(db, id), own.executeTakeFirst(), readWaitSeconds(db, id)]);
  const isShown = (row: Schema['alerts']): boolean =>
    isKnownKind(row.kind) && (!ruleOf(factsOf(row).kind).aboutTokens || may(role, 'api-token.read'));
  return { mail: wantsMail(role, mailing?.mail), waitSeconds, alerts: rows.filter(isShown).map(toAlert) };
}

async function changeMail(
  { store }: AlertCallDeps,
  { membership, caller, body, nowMs }: CallContext<'changeAlertMail'>,
): Promise<void> {
  // The first mail tells only what happens from now on.
  const set = { mail: body.mail ? 1 : 0, told_until: nowMs, waiting: 0 } as const;
  await store.write((trx) => keepMailing(trx, membership.id, caller.userId, set));
}

function parseWait(seconds: number): number {
  const { waitSecondsLeast: least, waitSecondsMost: most } = alertLimits;
  const fits = Number.isInteger(seconds) && seconds >= least && seconds <= most;
  return fits ? seconds : refuse('invalid', `The waiting time must be from ${least} to ${most} seconds, not ‘${seconds}’.`);
}

async function changeSettings({ store }: AlertCallDeps, context: CallContext<'changeAlertSettings'>): Promise<void> {
  const { membership, body } = context;
  const waitSeconds = parseWait(body.waitSeconds);
  await store.write(async (trx) => {
    await trx.updateTable('projects').set({ alert_wait_seconds: waitSeconds }).where('id', '=', membership.id).execute();
    await auditCall(trx, context, 'alert.change', membership.name, { waitSeconds });
  });
}

export const alertHandlers = {
  ...{ getAlerts, changeAlertMail: changeMail, changeAlertSettings: changeSettings },
} satisfies AreaHandlers<AlertCallDeps>;
