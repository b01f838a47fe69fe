// The operator's view of users: suspends them, makes operators, and makes login links for commands.

import type { OperatorUser, UserReach } from '@underpass/rules/entity/resource.ts';
import { limits } from '@underpass/rules/limits.ts';
import { type ListPage, userList } from '@underpass/rules/list/list-page.ts';
import { parseEmail } from '@underpass/rules/people/email.ts';
import { firstProjectName } from '@underpass/rules/text/project-name.ts';
import { sql } from 'kysely';
import { guardedTunnelsOf } from '../edges/policies/guarded-tunnels.ts';
import { eraseUser } from '../people/account/erasure.ts';
import type { PersonalFile } from '../people/account/export.ts';
import { createLoginLink, loginUrl } from '../people/auth/login-link.ts';
import { insertUser } from '../people/registration/registrations.ts';
import { tellNarrowed } from '../platform/bus/narrowed-rights.ts';
import { newOperatorMail } from '../platform/mail/mails.ts';
import { type ListedColumns, readListPage } from '../platform/store/list-page.ts';
import type { Schema } from '../platform/store/schema.ts';
import type { Queries } from '../platform/store/store.ts';
import type { CallContext } from '../request/caller/call.ts';
import { addNotices, operatorsOf } from '../request/caller/notice.ts';
import { endSignIns } from '../request/caller/session.ts';
import { orInvalid, orMissing, refuse } from '../request/http/refusal.ts';
import { type ActingOperator, auditOperator, newest, suspension } from './actor.ts';

const toUser = (row: Schema['users']): OperatorUser => ({
  id: row.id,
  email: row.email,
  firstName: row.first_name,
  lastName: row.last_name,
  operator: row.operator === 1,
  suspended: row.suspended_at !== null,
  createdAt: new Date(row.created_at).toISOString(),
  ...(row.invited_by === null ? {} : { invitedBy: row.invited_by }),
});

const listed: ListedColumns = {
  id: 'id',
  has: (pattern) => sql`lower(email || ' ' || first_name || ' ' || last_name) like ${pattern} escape '\\'`,
  sorts: { user: sql`email`, state: suspension('suspended_at'), since: sql`created_at` },
  numbers: ['since'],
  status: suspension('suspended_at'),
};

export async function listUsers({ deps }: ActingOperator, query = newest()): Promise<ListPage<OperatorUser>> {
  const page = await readListPage(deps.store.db.selectFrom('users').selectAll(), listed, query, userList.statuses);
  return { ...page, rows: page.rows.map(toUser) };
}

type UserChange = CallContext<'changeUser'>['body'];

async function countOperators(db: Queries): Promise<number> {
  const query = db.selectFrom('users').select('id').where('operator', '=', 1).where('suspended_at', 'is', null);
  return (await query.execute()).length;
}

/** Locks every operator's row: otherwise two operators could remove each other at once. */
const lockOperators = (trx: Queries) =>
  trx
    .updateTable('users')
    .set((eb) => ({ operator: eb.ref('operator') }))
    .where('operator', '=', 1)
    .execute();

const columnsOf = ({ suspended, operator, ownProjects }: UserChange, nowMs: number) => ({
  ...(suspended === undefined ? {} : { suspended_at: suspended ? nowMs : null }),
  ...(operator === undefined ? {} : { operator: operator ? (1 as const) : (0 as const) }),
  ...(ownProjects ? { invited_by: null } : {}),
});

/** The tunnels of the projects that the user owns: a suspension may stop them. */
async function ownedTunnels(db: Queries, userId: string): Promise<string[]> {
  const query = db.selectFrom('tunnels as t').innerJoin('members as m', 'm.project_id', 't.project_id').select('t.id');
  return (await query.where('m.user_id', '=', userId).where('m.role', '=', 'owner').execute()).map((row) => row.id);
}

export async function changeUser(operator: ActingOperator, id: string, change: UserChange): Promise<OperatorUser> {
  const { deps, nowMs } = operator;
  const set = columnsOf(change, nowMs);
  if (Object.keys(set).length === 0) refuse('invalid', "Nothing to change: give 'suspended', 'operator' or 'ownProjects'.");
  const { row, tunnelIds } = await deps.store.write(async (trx) => {
    await lockOperators(trx);
    const before = await operatorsOf(trx);
    const updated = await trx.updateTable('users').set(set).where('id', '=', id).returningAll().executeTakeFirst();
    const user = orMissing(updated, 'User');
    if ((await countOperators(trx)) === 0) refuse('conflict', 'This is the last operator. Make another user an operator first.');
    if (change.suspended) await endSignIns(trx, id, null, nowMs);
    await auditOperator(trx, operator, { action: 'user.change', target: user.email, detail: { ...change } });
    const mail = newOperatorMail(user.email, operator.by, deps.origin);
    if (change.operator && !before.includes(user.email)) await addNotices(trx, [...before, user.email], mail, nowMs);
    const tunnelIds = [...(await ownedTunnels(trx, id)), ...(await guardedTunnelsOf(trx, id))];
    return { row: user, tunnelIds: [...new Set(tunnelIds)] };
  });
  deps.feed.tunnelsChanged(tunnelIds);
  deps.jobs.wake();
  tellNarrowed(deps.bus, id);
  return toUser(row);
}

/** Deletes the account of somebody who asks the operator for it: the same as if they deleted it themselves. */
export async function deleteUser(
  { deps, nowMs }: ActingOperator,
  id: string,
): Promise<{ readonly id: string; readonly email: string }> {
  const { user, tunnelIds } = await deps.store.write(async (trx) => {
    const row = orMissing(await trx.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst(), 'User');
    return { user: row, tunnelIds: await eraseUser(trx, { user: row, byOperator: true, nowMs }) };
  });
  deps.feed.tunnelsChanged(tunnelIds);
  deps.jobs.wake();
  tellNarrowed(deps.bus, id);
  return { id, email: user.email };
}

async function findUser(db: Queries, id: string): Promise<Schema['users']> {
  return orMissing(await db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst(), 'User');
}

/** What the service holds about somebody who asks the operator for it: the same file as if they downloaded it themselves. */
export async function exportUser(operator: ActingOperator, id: string): Promise<PersonalFile> {
  const { deps, nowMs } = operator;
  const { email } = await deps.store.write(async (trx) => {
    const user = await findUser(trx, id);
    await auditOperator(trx, operator, { action: 'user.export', target: user.email });
    return user;
  });
  return { person: { id, email }, origin: deps.origin, nowMs };
}

/** Answers the same before and after a suspension, but for the sign-ins, which it ends. */
export async function readUserReach({ deps: { store } }: ActingOperator, id: string): Promise<UserReach> {
  await findUser(store.db, id);
  const projects = await ownedAlone(store.db, id);
  const tokens = store.db.selectFrom('api_tokens').select('cli').where('user_id', '=', id);
  const clis = (await tokens.execute()).map(({ cli }) => cli);
  const sessions = await store.db.selectFrom('sessions').select('id').where('user_id', '=', id).execute();
  return {
    projects: projects.slice(0, limits.operatorPageRows),
    projectCount: projects.length,
    tunnelCount: projects.reduce((sum, { tunnels }) => sum + tunnels, 0),
    apiTokens: clis.filter((cli) => cli === 0).length,
    signIns: clis.filter((cli) => cli === 1).length + sessions.length,
  };
}

/** The projects that no other active owner keeps going: see suspended tunnels in edges/feed/region-content.ts. Most tunnels first. */
async function ownedAlone(db: Queries, userId: string): Promise<UserReach['projects']> {
  const rows = await db
    .selectFrom('members as m')
    .innerJoin('projects as p', 'p.id', 'm.project_id')
    .leftJoin('tunnels as t', 't.project_id', 'p.id')
    .select(['p.id', 'p.name', (eb) => eb.fn.count('t.id').as('tunnels')])
    .where('m.user_id', '=', userId)
    .where('m.role', '=', 'owner')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('members as o')
            .innerJoin('users as u', 'u.id', 'o.user_id')
            .select('o.user_id')
            .whereRef('o.project_id', '=', 'm.project_id')
            .where('o.role', '=', 'owner')
            .where('o.user_id', '<>', userId)
            .where('u.suspended_at', 'is', null),
        ),
      ),
    )
    .groupBy(['p.id', 'p.name'])
    .execute();
  return rows.map((row) => ({ ...row, tunnels: Number(row.tunnels) })).sort((a, b) => b.tunnels - a.tunnels);
}

/** A one-time link for a known user, printed by a command. No browser asked for it, so its page shows a button. */
export async function createOperatorLink(operator: ActingOperator, emailText: string): Promise<string> {
  const email = orInvalid(parseEmail(emailText));
  const { origin, store } = operator.deps;
  const token = await store.write(async (trx) => {
    const user = orMissing(await trx.selectFrom('users').select('id').where('email', '=', email).executeTakeFirst(), 'User');
    await auditOperator(trx, operator, { action: 'login-link.create', target: email });
    return createLoginLink(trx, { userId: user.id, browserHash: null }, operator.nowMs);
  });
  return loginUrl(origin, token);
}

/** Makes the operator at the first start, when nobody can sign in yet. True if it made one. */
export async function ensureOperator(operator: ActingOperator): Promise<boolean> {
  const { deps, nowMs } = operator;
  const email = orInvalid(parseEmail(deps.operatorEmail));
  return deps.store.write(async (trx) => {
    if ((await countOperators(trx)) > 0) return false;
    const known = await trx
      .updateTable('users')
      .set({ operator: 1 })
      .where('email', '=', email)
      .returning('id')
      .executeTakeFirst();
    const user = { email, firstName: '', lastName: '', operator: true, projectName: firstProjectName(deps.operatorName, email) };
    if (!known) await insertUser(trx, user, nowMs);
    await auditOperator(trx, operator, { action: 'user.first-operator', target: email });
    return true;
  });
}
