// Sign-in from a terminal: the CLI shows a code, a signed-in user approves it in the dashboard, the CLI gets an API token.
// The token is made when the CLI fetches it, so no secret waits in the store.

import { randomInt } from 'node:crypto';
import { addressKey } from '@underpass/rules/address/address.ts';
import type { Device, DeviceStart, DeviceToken } from '@underpass/rules/entity/resource.ts';
import { durations, limits } from '@underpass/rules/limits.ts';
import { generateUserCode, parseUserCode } from '@underpass/rules/people/device-code.ts';
import { forbiddenMessage, mayGrant, parseRole } from '@underpass/rules/people/permission.ts';
import { parseApiTokenName } from '@underpass/rules/text/project-name.ts';
import { takeShare } from '../../platform/limit/limiter.ts';
import { newTokenMail } from '../../platform/mail/mails.ts';
import { createToken, hashToken } from '../../platform/secret/token.ts';
import { createId } from '../../platform/store/id.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import { createApiToken } from '../../request/caller/api-token.ts';
import { writeAudit } from '../../request/caller/audit.ts';
import type { AreaHandlers, CallContext } from '../../request/caller/call.ts';
import { findMembership, lowerRole, type Membership, refuseStopped } from '../../request/caller/membership.ts';
import { addNotices } from '../../request/caller/notice.ts';
import { takeQuota } from '../../request/caller/quota.ts';
import type { CallDeps } from '../../request/deps.ts';
import { orInvalid, orMissing, refuse } from '../../request/http/refusal.ts';

type DeviceDeps = Pick<CallDeps, 'store' | 'limiter' | 'origin' | 'jobs'>;

const lifeMs = durations.deviceCodeMinutes * 60_000;

async function startDevice(deps: DeviceDeps, { body, address, nowMs }: CallContext<'startDevice'>): Promise<DeviceStart> {
  const name = orInvalid(parseApiTokenName(body.name));
  await deps.limiter.take('deviceStart', addressKey(address));
  await takeShare(deps.limiter, 'deviceStart', address);
  const deviceCode = createToken();
  const userCode = generateUserCode((bound) => randomInt(bound));
  await deps.store.db
    .insertInto('device_logins')
    .values({
      id: createId(nowMs),
      device_hash: hashToken(deviceCode),
      user_code: userCode,
      name,
      state: 'pending',
      user_id: null,
      project_id: null,
      role: null,
      address,
      created_at: nowMs,
      expires_at: nowMs + lifeMs,
    })
    .execute();
  // Leaves the code out: a link that carried it would let a stranger have their terminal approved with one click.
  const verificationUrl = `${deps.origin}/activate`;
  return { deviceCode, userCode, verificationUrl, expiresIn: lifeMs / 1000, interval: durations.devicePollSeconds };
}

const findByDevice = (db: Queries, deviceCode: string, nowMs: number) =>
  db
    .selectFrom('device_logins')
    .selectAll()
    .where('device_hash', '=', hashToken(deviceCode))
    .where('expires_at', '>', nowMs)
    .executeTakeFirst();

/** The user who approved, unless suspended since. */
async function findApprover(db: Queries, row: Schema['device_logins']) {
  const user = db
    .selectFrom('users')
    .select(['id', 'email'])
    .where('id', '=', row.user_id ?? '')
    .where('suspended_at', 'is', null);
  return (await user.executeTakeFirst()) ?? refuse('gone', 'The sign-in was denied or has expired.');
}

const asCaller = (user: { id: string; email: string }) => ({
  userId: user.id,
  email: user.email,
  firstName: '',
  operator: false,
  isInvited: false,
  defaultProject: null,
  sessionId: null,
  fresh: false,
  passkey: 'none' as const,
  token: null,
});

async function pollDevice(deps: DeviceDeps, { body, nowMs }: CallContext<'pollDevice'>): Promise<DeviceToken> {
  // Counts by sign-in and not by address, so that others at the same address cannot stop this one.
  const known = await findByDevice(deps.store.db, body.deviceCode, nowMs);
  await deps.limiter.take('devicePoll', known?.id ?? refuse('gone', 'The sign-in was denied or has expired.'));
  const issued = await deps.store.write(async (trx) => {
    const row = await findByDevice(trx, body.deviceCode, nowMs);
    if (row?.state === 'pending') return refuse('undecided', 'The sign-in is waiting for approval.');
    if (row?.state !== 'approved') return refuse('gone', 'The sign-in was denied or has expired.');
    const user = await findApprover(trx, row);
    const membership = await findMembership(trx, asCaller(user), row.project_id ?? '');
    if (!membership || row.role === null) return refuse('gone', 'The sign-in was denied or has expired.');
    return issueToken(trx, { row, user, membership, origin: deps.origin, nowMs });
  });
  deps.jobs.wake();
  return issued;
}

interface Approved {
  readonly row: Schema['device_logins'];
  readonly user: { readonly id: string; readonly email: string };
  readonly membership: Membership;
  readonly origin: string;
  readonly nowMs: number;
}

async function issueToken(trx: Queries, { row, user, membership, origin, nowMs }: Approved): Promise<DeviceToken> {
  const taken = await trx.deleteFrom('device_logins').where('id', '=', row.id).executeTakeFirst();
  if (taken.numDeletedRows === 0n) return refuse('gone', 'The sign-in was denied or has expired.');
  await takeQuota(trx, membership, 'apiTokens');
  // Read again under the lock: a member who was just removed must not get a token.
  const now =
    (await findMembership(trx, asCaller(user), membership.id)) ?? refuse('gone', 'The sign-in was denied or has expired.');
  refuseStopped(now);
  const role = lowerRole(now.role, row.role ?? 'viewer');
  const made = { projectId: membership.id, userId: user.id, name: row.name, role, expiresInDays: limits.cliTokenDays, cli: true };
  const { token } = await createApiToken(trx, made, nowMs);
  const audit = {
    projectId: membership.id,
    actor: user.email,
    action: 'api-token.create' as const,
    target: row.name,
    address: row.address,
  };
  await writeAudit(trx, { ...audit, detail: { role, by: 'device' } }, nowMs);
  const facts = { name: row.name, role, projectName: membership.name, cli: true, address: row.address, nowMs };
  await addNotices(trx, [user.email], newTokenMail(facts, origin), nowMs);
  return { token, email: user.email, projects: [{ id: membership.id, name: membership.name, role }] };
}

type CodeCall = CallContext<'getDevice'> | CallContext<'approveDevice'> | CallContext<'denyDevice'>;

async function findWaiting(deps: DeviceDeps, { caller, segments, nowMs }: CodeCall): Promise<Schema['device_logins']> {
  await deps.limiter.take('deviceCodePerUser', caller.userId);
  const userCode = orInvalid(parseUserCode(segments.userCode));
  const row = await deps.store.db
    .selectFrom('device_logins')
    .selectAll()
    .where('user_code', '=', userCode)
    .where('state', '=', 'pending')
    .where('expires_at', '>', nowMs)
    .executeTakeFirst();
  return orMissing(row, 'Code');
}

async function getDevice(deps: DeviceDeps, context: CallContext<'getDevice'>): Promise<Device> {
  const row = await findWaiting(deps, context);
  return { name: row.name, address: row.address, createdAt: new Date(row.created_at).toISOString() };
}

async function decide(deps: DeviceDeps, id: string, change: Partial<Schema['device_logins']>): Promise<void> {
  const update = deps.store.db.updateTable('device_logins').set(change).where('id', '=', id).where('state', '=', 'pending');
  const { numUpdatedRows } = await update.executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) refuse('missing', 'Code not found');
}

async function approveDevice(deps: DeviceDeps, context: CallContext<'approveDevice'>): Promise<void> {
  const { caller, membership, body } = context;
  const row = await findWaiting(deps, context);
  const role = orInvalid(parseRole(body.role));
  if (!mayGrant(membership.role, role)) refuse('forbidden', forbiddenMessage);
  await decide(deps, row.id, { state: 'approved', user_id: caller.userId, project_id: membership.id, role });
}

async function denyDevice(deps: DeviceDeps, context: CallContext<'denyDevice'>): Promise<void> {
  const row = await findWaiting(deps, context);
  await decide(deps, row.id, { state: 'denied' });
}

export const deviceHandlers = {
  ...{ startDevice, pollDevice, getDevice, approveDevice, denyDevice },
} satisfies AreaHandlers<DeviceDeps>;
