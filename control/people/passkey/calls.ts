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
import type { CallContext, Handlers } from '../../request/caller/call.ts';
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
import { challengeOf, checkAnswer, checkCreation, creationOptions, type Party, partyOf, requestOptions } from './ceremony.ts';
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

export interface PasskeyDeps extends SignInDeps, Pick<CallDeps, 'feed' | 'limiter'> {
  readonly keyRing: Pick<KeyRing, 'derive'>;
}

/** The deps, and what follows from them. */
interface PasskeyParts extends PasskeyDeps {
  readonly party: Party;
  /** The first signs challenges; each may have signed one. */
  readonly secrets: () => readonly [newest: string, ...older: string[]];
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

/** The holder of a challenge without a session. A browser without the cookie gets no answer through. */
const isOurs = ({ secrets }: Pick<PasskeyParts, 'secrets'>, text: string, asked: Asked, nowMs: number): boolean =>
  secrets().some((secret) => isOwnChallenge(secret, text, asked, nowMs));

const inBrowser = (browser: string): Asked => ({ purpose: 'sign-in', holder: hashToken(browser) });

interface NewsCall {
  readonly caller: Caller;
  readonly nowMs: number;
}

/** The mail about a change goes out with the change. */
const mailNews = ({ origin }: PasskeyParts, trx: Queries, { caller, nowMs }: NewsCall, news: PasskeyNews): Promise<void> =>
  addNotices(trx, [caller.email], passkeyMail(news, origin), nowMs);

const list = async ({ store }: PasskeyParts, { caller }: CallContext<'listPasskeys'>): Promise<Passkeys> => ({
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

async function start(parts: PasskeyParts, { caller, nowMs }: CallContext<'startPasskey'>): Promise<PasskeyOptions> {
  await parts.limiter.take('passkey', caller.userId);
  const known = await listPasskeys(parts.store.db, caller.userId);
  expectProof(caller, known.length);
  if (known.length >= limits.passkeysPerUser) refuse('conflict', tooManyPasskeysMessage);
  const challenge = createChallenge(parts.secrets()[0], inSession('add', caller), nowMs);
  return { ...(await creationOptions(parts.party, { id: caller.userId, email: caller.email }, known, challenge)) };
}

async function add(parts: PasskeyParts, context: CallContext<'addPasskey'>): Promise<Passkey> {
  const { caller, body, nowMs } = context;
  const name = orInvalid(parsePasskeyName(body.name));
  await parts.limiter.take('passkey', caller.userId);
  const { credential } = body;
  const asked = inSession('add', caller);
  const made = await checkCreation(parts.party, credential, (text) => isOurs(parts, text, asked, nowMs));
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
  const tunnels = await parts.store.write(async (trx) => {
    await lockUser(trx, caller.userId);
    const count = (await listPasskeys(trx, caller.userId)).length;
    expectProof(caller, count);
    if (count >= limits.passkeysPerUser) refuse('conflict', tooManyPasskeysMessage);
    if (!(await spendChallenge(trx, challengeOf(credential), nowMs))) refuse('invalid', passkeyRefusedMessage);
    await insertPasskey(trx, row);
    await renewProof(trx, caller.sessionId!, nowMs, 'passkey');
    await auditCall(trx, context, 'passkey.add', caller.email, { name });
    await mailNews(parts, trx, context, { kind: 'added', name });
    return count === 0 ? guardedTunnelsOf(trx, caller.userId) : [];
  });
  parts.feed.tunnelsChanged(tunnels);
  parts.jobs.wake();
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

async function rename(parts: PasskeyParts, context: CallContext<'renamePasskey'>): Promise<Passkey> {
  const { caller, segments, body } = context;
  const name = orInvalid(parsePasskeyName(body.name));
  return parts.store.write(async (trx) => {
    const own = trx.updateTable('passkeys').set({ name }).where('id', '=', segments.id).where('user_id', '=', caller.userId);
    const row = orMissing(await own.returningAll().executeTakeFirst(), 'Passkey');
    await auditCall(trx, context, 'passkey.rename', caller.email, { name });
    return toPasskey(row);
  });
}

async function remove(parts: PasskeyParts, context: CallContext<'removePasskey'>): Promise<void> {
  const { caller, segments, nowMs } = context;
  const tunnels = await parts.store.write(async (trx) => {
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
    await mailNews(parts, trx, context, { kind: 'removed', name });
    return guardedTunnelsOf(trx, caller.userId);
  });
  parts.feed.tunnelsChanged(tunnels);
  parts.jobs.wake();
  tellNarrowed(parts.bus, caller.userId);
}

async function startSignIn(
  parts: PasskeyParts,
  { request, address, nowMs }: CallContext<'startPasskeySignIn'>,
): Promise<Response> {
  await parts.limiter.take('passkey', addressKey(address));
  const browser = browserToken(parts.cookies, request.headers);
  const options = await requestOptions(parts.party, [], createChallenge(parts.secrets()[0], inBrowser(browser), nowMs));
  return Response.json(options, { headers: { 'set-cookie': browserCookie(parts.cookies, browser) } });
}

type AnswerCall = CallContext<'signInByPasskey'> | CallContext<'proveByPasskey'>;

interface Checked {
  readonly passkey: Schema['passkeys'] & { readonly email: string };
  readonly signCount: number;
}

/** The passkey of a user who may sign in, if it answered our challenge. */
async function check(parts: PasskeyParts, { body, nowMs }: AnswerCall, asked: Asked): Promise<Checked | undefined> {
  const { credential } = body;
  const passkey = await findPasskey(parts.store.db, credential.id);
  if (!passkey) return undefined;
  const { userHandle } = credential.response;
  if (userHandle && Buffer.from(userHandle, 'base64url').toString() !== passkey.user_id) return undefined;
  const isOwn = (text: string): boolean => isOurs(parts, text, asked, nowMs);
  const signCount = await checkAnswer(parts.party, credential, passkey, isOwn);
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
async function refuseSignIn(parts: PasskeyParts, { body, address, nowMs }: CallContext<'signInByPasskey'>): Promise<never> {
  await parts.limiter.take('wrongLink', addressKey(address));
  await auditFailedPasskey(parts, { credentialId: body.credential.id, address, nowMs });
  return refuse('signedOut', passkeyFailedMessage);
}

async function signInByPasskey(parts: PasskeyParts, context: CallContext<'signInByPasskey'>): Promise<Response> {
  await parts.limiter.take('passkey', addressKey(context.address));
  const browser = readCookie(context.request.headers, parts.cookies.browser);
  const checked = browser === undefined ? undefined : await check(parts, context, inBrowser(browser));
  if (!checked) return refuseSignIn(parts, context);
  const { user_id: userId, email, id } = checked.passkey;
  const answer = await signIn(parts, context, async (trx) =>
    (await take(trx, checked, context)) ? { userId, email, passkeyId: id } : undefined,
  );
  return answer ?? refuseSignIn(parts, context);
}

async function startProof(parts: PasskeyParts, { caller, nowMs }: CallContext<'startPasskeyProof'>): Promise<PasskeyOptions> {
  await parts.limiter.take('passkey', caller.userId);
  const known = await listPasskeys(parts.store.db, caller.userId);
  if (known.length === 0) refuse('conflict', passkeyNeededMessage);
  const options = await requestOptions(
    parts.party,
    known,
    createChallenge(parts.secrets()[0], inSession('prove', caller), nowMs),
  );
  return { ...options };
}

async function refuseProof(
  parts: PasskeyParts,
  context: CallContext<'proveByPasskey' | 'proveByRecoveryCode'>,
  why: string,
  text: string,
) {
  await auditFailedProof(parts, context, why);
  return refuse('invalid', text);
}

async function proveByPasskey(parts: PasskeyParts, context: CallContext<'proveByPasskey'>): Promise<void> {
  const { caller, nowMs } = context;
  await parts.limiter.take('passkey', caller.userId);
  const checked = await check(parts, context, inSession('prove', caller));
  const why = 'wrong answer of a passkey';
  if (checked?.passkey.user_id !== caller.userId) return refuseProof(parts, context, why, passkeyRefusedMessage);
  const isTaken = await parts.store.write(async (trx) => {
    if (!(await take(trx, checked, context))) return false;
    await renewProof(trx, caller.sessionId!, nowMs, 'passkey');
    await auditCall(trx, context, 'session.prove', caller.email, { by: 'passkey', name: checked.passkey.name });
    return true;
  });
  if (!isTaken) await refuseProof(parts, context, why, passkeyRefusedMessage);
}

async function createCodes(parts: PasskeyParts, context: CallContext<'createRecoveryCodes'>): Promise<RecoveryCodes> {
  const { caller, nowMs } = context;
  const codes = await parts.store.write(async (trx) => {
    await lockUser(trx, caller.userId);
    const count = (await listPasskeys(trx, caller.userId)).length;
    if (count === 0) refuse('conflict', noPasskeyMessage);
    expectProof(caller, count);
    const made = await replaceRecoveryCodes(trx, caller.userId, nowMs);
    await auditCall(trx, context, 'recovery-code.create', caller.email);
    await mailNews(parts, trx, context, { kind: 'codes-made' });
    return made;
  });
  parts.jobs.wake();
  return { codes };
}

async function proveByCode(parts: PasskeyParts, context: CallContext<'proveByRecoveryCode'>): Promise<void> {
  const { caller, body, nowMs } = context;
  const code = orInvalid(parseRecoveryCode(body.recoveryCode));
  await parts.limiter.take('recoveryCodePerUser', caller.userId);
  const isTaken = await parts.store.write(async (trx) => {
    if (!(await useRecoveryCode(trx, caller.userId, code))) return false;
    const left = await countRecoveryCodes(trx, caller.userId);
    await renewProof(trx, caller.sessionId!, nowMs, 'passkey');
    await auditCall(trx, context, 'session.prove', caller.email, { by: 'recovery-code', left });
    await mailNews(parts, trx, context, { kind: 'code-used', left });
    return true;
  });
  if (!isTaken) return refuseProof(parts, context, 'wrong recovery code', wrongRecoveryCodeMessage);
  parts.jobs.wake();
}

export function createPasskeyCalls(deps: PasskeyDeps) {
  const parts = { ...deps, party: partyOf(deps.origin), secrets: () => deps.keyRing.derive('passkey') };
  return {
    listPasskeys: (context) => list(parts, context),
    startPasskey: (context) => start(parts, context),
    addPasskey: (context) => add(parts, context),
    renamePasskey: (context) => rename(parts, context),
    removePasskey: (context) => remove(parts, context),
    startPasskeySignIn: (context) => startSignIn(parts, context),
    signInByPasskey: (context) => signInByPasskey(parts, context),
    startPasskeyProof: (context) => startProof(parts, context),
    proveByPasskey: (context) => proveByPasskey(parts, context),
    createRecoveryCodes: (context) => createCodes(parts, context),
    proveByRecoveryCode: (context) => proveByCode(parts, context),
  } satisfies Partial<Handlers>;
}
