// Who of a project gets alert mails, and when: the first news at once, and what follows within some minutes in one mail.

import { alertLimits } from '@underpass/rules/limits.ts';
import { may } from '@underpass/rules/people/permission.ts';
import { ruleOf } from '@underpass/rules/tunnel/alert.ts';
import { addJob } from '../platform/job/queue.ts';
import { type AlertNews, alertMail } from '../platform/mail/mails.ts';
import type { Schema } from '../platform/store/schema.ts';
import type { Queries } from '../platform/store/store.ts';
import { factsOf, isKnownKind } from './alert-rows.ts';

const digestMs = alertLimits.digestMinutes * 60_000;

/** Viewers only look on: they ask for mails themselves. */
export const wantsMail = (role: Schema['members']['role'], mail: Schema['alert_mailings']['mail'] | undefined): boolean =>
  mail === null || mail === undefined ? role !== 'viewer' : mail === 1;

const readPeople = (db: Queries, projectId: string) =>
  db
    .selectFrom('members as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .innerJoin('projects as p', 'p.id', 'm.project_id')
    .leftJoin('alert_mailings as a', (join) =>
      join.onRef('a.user_id', '=', 'm.user_id').onRef('a.project_id', '=', 'm.project_id'),
    )
    .select(['u.id', 'u.email', 'm.role', 'p.name as project', 'a.mail', 'a.told_until', 'a.mailed_at', 'a.waiting'])
    .where('m.project_id', '=', projectId)
    .where('u.suspended_at', 'is', null)
    .execute();

type Person = Awaited<ReturnType<typeof readPeople>>[number];

interface News extends AlertNews {
  /** When it opened or closed last. */
  readonly lastAt: number;
}

/** The oldest first. Closing is news only of some kinds. */
async function readNews(db: Queries, projectId: string, afterMs: number): Promise<readonly News[]> {
  const rows = await db
    .selectFrom('alerts')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('opened_at', 'is not', null)
    .where((eb) => eb.or([eb('opened_at', '>', afterMs), eb('closed_at', '>', afterMs)]))
    .orderBy('id')
    .execute();
  return rows
    .filter(({ kind }) => isKnownKind(kind))
    .map((row) => {
      const facts = factsOf(row);
      const closedMs = ruleOf(facts.kind).ends && row.closed_at !== null ? row.closed_at : undefined;
      const about = { facts, end: row.ended ?? 'gone', openedMs: row.opened_at! };
      return { ...about, ...(closedMs === undefined ? {} : { closedMs }), lastAt: closedMs ?? row.opened_at! };
    });
}

/** What a notice has told them, or their role does not show them, is left out. */
function isFor({ facts, lastAt }: News, { email, role, told_until }: Person, nowMs: number): boolean {
  const { noticed = false, aboutTokens = false } = ruleOf(facts.kind);
  if (noticed || facts.person === email || (aboutTokens && !may(role, 'api-token.read'))) return false;
  return lastAt > toldUntil({ told_until }, nowMs);
}

const toldUntil = ({ told_until }: Pick<Person, 'told_until'>, nowMs: number): number => told_until ?? nowMs - 1;

/** Adds the mails that are due, and notes who has news for the next one. Runs in the transaction of the news. */
export async function mailNews(trx: Queries, projectId: string, nowMs: number): Promise<void> {
  const people = (await readPeople(trx, projectId)).filter(({ role, mail }) => wantsMail(role, mail));
  const news = await readNews(trx, projectId, Math.min(nowMs, ...people.map((person) => toldUntil(person, nowMs))));
  for (const person of people) {
    const own = news.filter((each) => isFor(each, person, nowMs));
    if (own.length > 0 && isRecent(person, nowMs)) await keep(trx, projectId, person, { waiting: 1 });
    else if (own.length > 0) await addMail(trx, projectId, person, own, nowMs);
    else if (person.waiting === 1) await keep(trx, projectId, person, { waiting: 0 });
  }
}

/** A mail that was sent in the future was sent before the clock went back. */
const isRecent = ({ mailed_at }: Person, nowMs: number): boolean =>
  mailed_at !== null && mailed_at <= nowMs && nowMs - mailed_at < digestMs;

async function addMail(
  trx: Queries,
  projectId: string,
  { id, project, told_until }: Person,
  own: readonly News[],
  nowMs: number,
) {
  const mail = alertMail({ project, news: own, afterMs: told_until ?? nowMs - 1 });
  await addJob(trx, nowMs, 'alert-mail', { projectId, userId: id, ...mail });
  await keepMailing(trx, projectId, id, { told_until: nowMs, mailed_at: nowMs, waiting: 0 });
}

const keep = (trx: Queries, projectId: string, { id }: Person, set: Partial<Schema['alert_mailings']>): Promise<void> =>
  keepMailing(trx, projectId, id, set);

const newMailing = { mail: null, told_until: 0, mailed_at: 0, waiting: 0 } as const;

/** A member who has just left keeps none. */
export async function keepMailing(
  trx: Queries,
  projectId: string,
  userId: string,
  set: Partial<Schema['alert_mailings']>,
): Promise<void> {
  const { mail, told_until, mailed_at, waiting } = { ...newMailing, ...set };
  const columns = { mail, told_until, mailed_at, waiting };
  const names = Object.keys(columns) as (keyof typeof columns)[];
  await trx
    .insertInto('alert_mailings')
    .columns(['project_id', 'user_id', ...names])
    .expression((eb) =>
      eb
        .selectFrom('members')
        .select((each) => ['project_id', 'user_id', ...names.map((name) => each.val(columns[name]).as(name))])
        .where('project_id', '=', projectId)
        .where('user_id', '=', userId),
    )
    .onConflict((conflict) => conflict.columns(['project_id', 'user_id']).doUpdateSet(set))
    .execute();
}

/** Projects with people whose next mail is due. */
export async function readDue(db: Queries, nowMs: number): Promise<readonly string[]> {
  const due = db.selectFrom('alert_mailings').select('project_id').distinct().where('waiting', '=', 1);
  return (await due.where('mailed_at', '<=', nowMs - digestMs).execute()).map(({ project_id }) => project_id);
}
