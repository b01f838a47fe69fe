// The calls about passkeys and recovery codes: adding and removing them, signing in, and proving who uses a session.

import { addressKey } from '@underpass/rules/address/address.ts';
import type { Passkey, PasskeyOptions, Passkeys, RecoveryCodes } from '@underpass/rules/entity/resource.ts';
import { limits } from '@underpass/rules/limits.ts';
import {
  lastPasskeyMessage,
  mayChangePasskeys,
  noPasskeyMessage,
  parsePasskeyName,
  parseRecoveryCode,
  passkeyFailedMessage,
  passkeyNeededMessage,
  passkeyRefusedMessage,
  passkeyTakenMessage,
  tooManyPasskeysMessage,
  wrongRecoveryCodeMessage,
} from '@underpass/rules/people/passkey.ts';
import { endVisitsOfUser } from '../../edges/policies/end-visits.ts';
import { guardedTunnelsOf } from '../../edges/policies/guarded-tunnels.ts';
import { tellNarrowed } from '../../platform/bus/narrowed-rights.ts';
import { type PasskeyNews, passkeyMail } from '../../platform/mail/mails.ts';
import type { KeyRing } from '../../platform/secret/key-ring.ts';
import { hashToken } from '../../platform/secret/token.ts';
import { createId } from '../../platform/store/id.ts';
import type { Schema } from '../../platform/store/schema.ts';
import { isUniqueViolation, type Queries } from '../../platform/store/store.ts';
import { auditCall, writeAudit } from '../../request/caller/audit.ts';
import type { AreaHandlers, CallContext } from '../../request/caller/call.ts';
import type { Caller } from '../../request/caller/caller.ts';
import { addNotices } from '../../request/caller/notice.ts';
import { auditFailedPasskey, auditFailedProof } from '../../request/caller/refusal-audit.ts';
import { renewProof } from '../../request/caller/session.ts';
import { lockUser } from '../../request/caller/user-lock.ts';
import type { CallDeps } from '../../request/deps.ts';
import { readCookie } from '../../request/http/cookie.ts';
import { orInvalid, orMissing, refuse } from '../../request/http/refusal.ts';
import { browserCookie, browserToken } from '../auth/browser.ts';
import { type SignInDeps, signIn } from '../auth/sign-in.ts';
import { challengeOf, checkAnswer, checkCreation, creationOptions, partyOf, requestOptions } from './ceremony.ts';
import { type Asked, createChallenge, isOwnChallenge, spendChallenge } from './challenge.ts';
import {
  countRecoveryCodes,
  distrustPasskey,
  findPasskey,
  forgetProofs,
  isPasskeyRequired,
  listPasskeys,
  replaceRecoveryCodes,
  takeSignCount,
  useRecoveryCode,
} from './passkeys.ts';

interface PasskeyDeps extends SignInDeps, Pick<CallDeps, 'feed' | 'limiter'> {
  readonly keyRing: Pick<KeyRing, 'derive'>;
}

/** The longest id that WebAuthn allows, 1023 bytes, in base64url. */
const credentialIdMaxChars = 1364;

const toPasskey = ({ id, name, created_at, used_at }: Schema['passkeys']): Passkey => ({
  id,
  name,
  createdAt: new Date(created_at).toISOString(),
  usedAt: used_at === null ? null : new Date(used_at).toISOString(),
});

const inSession = (purpose: Asked['purpose'], { sessionId }: Caller): Asked => ({ purpose, holder: sessionId! });

/** The secret that signs challenges; each of the older ones may have signed one. */
const newestSecret = ({ keyRing }: Pick<PasskeyDeps, 'keyRing'>): string => keyRing.derive('passkey')[0];

/** The holder of a challenge without a session. A browser without the cookie gets no answer through. */
const isOurs = ({ keyRing }: Pick<PasskeyDeps, 'keyRing'>, text: string, asked: Asked, nowMs: number): boolean =>
  keyRing.derive('passkey').some((secret) => isOwnChallenge(secret, text, asked, nowMs));

const inBrowser = (browser: string): Asked => ({ purpose: 'sign-in', holder: hashToken(browser) });

interface NewsCall {
  readonly caller: Caller;
  readonly nowMs: number;
}

/** The mail about a change goes out with the change. */
const mailNews = ({ origin }: PasskeyDeps, trx: Queries, { caller, nowMs }: NewsCall, news: PasskeyNews): Promise<void> =>
  addNotices(trx, [caller.email], passkeyMail(news, origin), nowMs);

const list = async ({ store }: PasskeyDeps, { caller }: CallContext<'listPasskeys'>): Promise<Passkeys> => ({
  passkeys: (await listPasskeys(store.db, caller.userId)).map(toPasskey),
  recoveryCodes: await countRecoveryCodes(store.db, caller.userId),
  required: await isPasskeyRequired(store.db, caller.userId),
});

/** Refuses with the code that makes the dashboard ask for the proof that is missing. */
function expectProof(caller: Caller, passkeys: number): void {
  if (mayChangePasskeys(caller, passkeys)) return;
  if (passkeys === 0) refuse('proofNeeded', 'Your last sign-in was too long ago. Confirm that it is you first.');
  refuse('passkeyNeeded', 'Confirm with a passkey first.');
}

async function start(deps: PasskeyDeps, { caller, nowMs }: CallContext<'startPasskey'>): Promise<PasskeyOptions> {
  await deps.limiter.take('passkey', caller.userId);
  const known = await listPasskeys(deps.store.db, caller.userId);
  expectProof(caller, known.length);
  if (known.length >= limits.passkeysPerUser) refuse('conflict', tooManyPasskeysMessage);
  const challenge = createChallenge(newestSecret(deps), inSession('add', caller), nowMs);
  return { ...(await creationOptions(partyOf(deps.origin), { id: caller.userId, email: caller.email }, known, challenge)) };
}

async function add(deps: PasskeyDeps, context: CallContext<'addPasskey'>): Promise<Passkey> {
  const { caller, body, nowMs } = context;
  const name = orInvalid(parsePasskeyName(body.name));
  await deps.limiter.take('passkey', caller.userId);
  const { credential } = body;
  const asked = inSession('add', caller);
  const made = await checkCreation(partyOf(deps.origin), credential, (text) => isOurs(deps, text, asked, nowMs));
  if (!made || made.id.length > credentialIdMaxChars) return refuse('invalid', passkeyRefusedMessage);
  const row: Schema['passkeys'] = {
    id: createId(nowMs),
    user_id: caller.userId,
    credential_id: made.id,
    public_key: made.publicKey,
    sign_count: made.signCount,
    transports: JSON.stringify(credential.response.transports ?? []),
    name,
    created_at: nowMs,
    used_at: null,
  };
  const tunnels = await deps.store.write(async (trx) => {
    await lockUser(trx, caller.userId);
    const count = (await listPasskeys(trx, caller.userId)).length;
    expectProof(caller, count);
    if (count >= limits.passkeysPerUser) refuse('conflict', tooManyPasskeysMessage);
    if (!(await spendChallenge(trx, challengeOf(credential), nowMs))) refuse('invalid', passkeyRefusedMessage);
    await insertPasskey(trx, row);
    await renewProof(trx, caller.sessionId!, nowMs, 'passkey');
    await auditCall(trx, context, 'passkey.add', caller.email, { name });
    await mailNews(deps, trx, context, { kind: 'added', name });
    return count === 0 ? guardedTunnelsOf(trx, caller.userId) : [];
  });
  deps.feed.tunnelsChanged(tunnels);
  deps.jobs.wake();
  return toPasskey(row);
}

async function insertPasskey(trx: Queries, row: Schema['passkeys']): Promise<void> {
  try {
    await trx.insertInto('passkeys').values(row).execute();
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    refuse('conflict', passkeyTakenMessage);
  }
}

async function rename(deps: PasskeyDeps, context: CallContext<'renamePasskey'>): Promise<Passkey> {
  const { caller, segments, body } = context;
  const name = orInvalid(parsePasskeyName(body.name));
  return deps.store.write(async (trx) => {
    const own = trx.updateTable('passkeys').set({ name }).where('id', '=', segments.id).where('user_id', '=', caller.userId);
    const row = orMissing(await own.returningAll().executeTakeFirst(), 'Passkey');
    await auditCall(trx, context, 'passkey.rename', caller.email, { name });
    return toPasskey(row);
  });
}

async function remove(deps: PasskeyDeps, context: CallContext<'removePasskey'>): Promise<void> {
  const { caller, segments, nowMs } = context;
  const tunnels = await deps.store.write(async (trx) => {
    await lockUser(trx, caller.userId);
    const all = await listPasskeys(trx, caller.userId);
    const passkey = orMissing(
      all.find((each) => each.id === segments.id),
      'Passkey',
    );
    const { id, name } = passkey;
    expectProof(caller, all.length);
    if (all.length === 1 && (await isPasskeyRequired(trx, caller.userId))) refuse('conflict', lastPasskeyMessage);
    await trx.deleteFrom('passkeys').where('id', '=', id).execute();
    await distrustPasskey(trx, passkey, caller.sessionId!);
    if (all.length === 1) await forgetProofs(trx, caller.userId);
    await endVisitsOfUser(trx, caller.userId, nowMs);
    await auditCall(trx, context, 'passkey.remove', caller.email, { name });
    await mailNews(deps, trx, context, { kind: 'removed', name });
    return guardedTunnelsOf(trx, caller.userId);
  });
  deps.feed.tunnelsChanged(tunnels);
  deps.jobs.wake();
  tellNarrowed(deps.bus, caller.userId);
}

async function startSignIn(deps: PasskeyDeps, { request, address, nowMs }: CallContext<'startPasskeySignIn'>): Promise<Response> {
  await deps.limiter.take('passkey', addressKey(address));
  const browser = browserToken(deps.cookies, request.headers);
  const options = await requestOptions(partyOf(deps.origin), [], createChallenge(newestSecret(deps), inBrowser(browser), nowMs));
  return Response.json(options, { headers: { 'set-cookie': browserCookie(deps.cookies, browser) } });
}

type AnswerCall = CallContext<'signInByPasskey'> | CallContext<'proveByPasskey'>;

interface Checked {
  readonly passkey: Schema['passkeys'] & { readonly email: string };
  readonly signCount: number;
}

/** The passkey of a user who may sign in, if it answered our challenge. */
async function check(deps: PasskeyDeps, { body, nowMs }: AnswerCall, asked: Asked): Promise<Checked | undefined> {
  const { credential } = body;
  const passkey = await findPasskey(deps.store.db, credential.id);
  if (!passkey) return undefined;
  const { userHandle } = credential.response;
  if (userHandle && Buffer.from(userHandle, 'base64url').toString() !== passkey.user_id) return undefined;
  const isOwn = (text: string): boolean => isOurs(deps, text, asked, nowMs);
  const signCount = await checkAnswer(partyOf(deps.origin), credential, passkey, isOwn);
  return signCount === undefined ? undefined : { passkey, signCount };
}

/**
 * Spends the challenge and takes the sign count, in the transaction of what the answer does. False for a replay, and for a copied
 * passkey, which the audit log gets: the signature was right.
 */
async function take(trx: Queries, { passkey, signCount }: Checked, { body, address, nowMs }: AnswerCall): Promise<boolean> {
  if (!(await spendChallenge(trx, challengeOf(body.credential), nowMs))) return false;
  // Read again: it may have been removed, or its user suspended, since it was checked.
  const row = await findPasskey(trx, passkey.credential_id);
  if (!row) return false;
  if (await takeSignCount(trx, row, signCount, nowMs)) return true;
  const { email, name } = passkey;
  const refusal = {
    projectId: null,
    actor: email,
    action: 'passkey.refuse' as const,
    target: email,
    address,
    detail: { name, why: 'copied' },
  };
  await writeAudit(trx, refusal, nowMs);
  return false;
}

/** Refuses as a link that does not work is refused. */
async function refuseSignIn(deps: PasskeyDeps, { body, address, nowMs }: CallContext<'signInByPasskey'>): Promise<never> {
  await deps.limiter.take('wrongLink', addressKey(address));
  await auditFailedPasskey(deps, { credentialId: body.credential.id, address, nowMs });
  return refuse('signedOut', passkeyFailedMessage);
}

async function signInByPasskey(deps: PasskeyDeps, context: CallContext<'signInByPasskey'>): Promise<Response> {
  await deps.limiter.take('passkey', addressKey(context.address));
  const browser = readCookie(context.request.headers, deps.cookies.browser);
  const checked = browser === undefined ? undefined : await check(deps, context, inBrowser(browser));
  if (!checked) return refuseSignIn(deps, context);
  const { user_id: userId, email, id } = checked.passkey;
  const answer = await signIn(deps, context, async (trx) =>
    (await take(trx, checked, context)) ? { userId, email, passkeyId: id } : undefined,
  );
  return answer ?? refuseSignIn(deps, context);
}

async function startProof(deps: PasskeyDeps, { caller, nowMs }: CallContext<'startPasskeyProof'>): Promise<PasskeyOptions> {
  await deps.limiter.take('passkey', caller.userId);
  const known = await listPasskeys(deps.store.db, caller.userId);
  if (known.length === 0) refuse('conflict', passkeyNeededMessage);
  const options = await requestOptions(
    partyOf(deps.origin),
    known,
    createChallenge(newestSecret(deps), inSession('prove', caller), nowMs),
  );
  return { ...options };
}

async function refuseProof(
  deps: PasskeyDeps,
  context: CallContext<'proveByPasskey' | 'proveByRecoveryCode'>,
  why: string,
  text: string,
) {
  await auditFailedProof(deps, context, why);
  return refuse('invalid', text);
}

async function proveByPasskey(deps: PasskeyDeps, context: CallContext<'proveByPasskey'>): Promise<void> {
  const { caller, nowMs } = context;
  await deps.limiter.take('passkey', caller.userId);
  const checked = await check(deps, context, inSession('prove', caller));
  const why = 'wrong answer of a passkey';
  if (checked?.passkey.user_id !== caller.userId) return refuseProof(deps, context, why, passkeyRefusedMessage);
  const isTaken = await deps.store.write(async (trx) => {
    if (!(await take(trx, checked, context))) return false;
    await renewProof(trx, caller.sessionId!, nowMs, 'passkey');
    await auditCall(trx, context, 'session.prove', caller.email, { by: 'passkey', name: checked.passkey.name });
    return true;
  });
  if (!isTaken) await refuseProof(deps, context, why, passkeyRefusedMessage);
}

async function createCodes(deps: PasskeyDeps, context: CallContext<'createRecoveryCodes'>): Promise<RecoveryCodes> {
  const { caller, nowMs } = context;
  const codes = await deps.store.write(async (trx) => {
    await lockUser(trx, caller.userId);
    const count = (await listPasskeys(trx, caller.userId)).length;
    if (count === 0) refuse('conflict', noPasskeyMessage);
    expectProof(caller, count);
    const made = await replaceRecoveryCodes(trx, caller.userId, nowMs);
    await auditCall(trx, context, 'recovery-code.create', caller.email);
    await mailNews(deps, trx, context, { kind: 'codes-made' });
    return made;
  });
  deps.jobs.wake();
  return { codes };
}

async function proveByCode(deps: PasskeyDeps, context: CallContext<'proveByRecoveryCode'>): Promise<void> {
  const { caller, body, nowMs } = context;
  const code = orInvalid(parseRecoveryCode(body.recoveryCode));
  await deps.limiter.take('recoveryCodePerUser', caller.userId);
  const isTaken = await deps.store.write(async (trx) => {
    if (!(await useRecoveryCode(trx, caller.userId, code))) return false;
    const left = await countRecoveryCodes(trx, caller.userId);
    await renewProof(trx, caller.sessionId!, nowMs, 'passkey');
    await auditCall(trx, context, 'session.prove', caller.email, { by: 'recovery-code', left });
    await mailNews(deps, trx, context, { kind: 'code-used', left });
    return true;
  });
  if (!isTaken) return refuseProof(deps, context, 'wrong recovery code', wrongRecoveryCodeMessage);
  deps.jobs.wake();
}

export const passkeyHandlers = {
  ...{ listPasskeys: list, startPasskey: start, addPasskey: add, renamePasskey: rename, removePasskey: remove },
  ...{ startPasskeySignIn: startSignIn, signInByPasskey, startPasskeyProof: startProof, proveByPasskey },
  ...{ createRecoveryCodes: createCodes, proveByRecoveryCode: proveByCode },
} satisfies AreaHandlers<PasskeyDeps>;
