// People whom the policy lists prove their e-mail address with a code. The answer and the work are the same for other addresses:
// only the job that writes the mail looks the address up.

import { timingSafeEqual } from 'node:crypto';
import { addressKey, networkKey } from '@underpass/rules/address/address.ts';
import { durations } from '@underpass/rules/limits.ts';
import { parseUserCode } from '@underpass/rules/people/device-code.ts';
import { parseEmail } from '@underpass/rules/people/email.ts';
import { addJob } from '../../platform/job/queue.ts';
import { hasRoom } from '../../platform/limit/limiter.ts';
import { createToken, hashToken } from '../../platform/secret/token.ts';
import { claimsOf, finishSignIn, signInUrl } from './finish.ts';
import { addFlow, isFlowBrowser, keepFlowBrowser, type SignInFlow, takeFlow, tryFlow } from './flow.ts';
import { hiddenFields, html, renderNote, renderPage } from './page.ts';
import { logSignIn } from './sign-in-log.ts';
import { renderField, renderSignIn } from './sign-in-page.ts';
import { targetFields } from './target.ts';
import type { Visit, VisitDeps } from './visit-deps.ts';

const codeTries = 5;

/** What a flow of kind `code` holds. The job adds the hash of the code, if the policy lists the address. */
interface CodeFlow {
  readonly email: string;
  readonly browserHash: string;
  readonly codeHash?: string;
}

/** Bound to its flow, so that equal codes have different hashes. */
export const hashCode = (flowId: string, code: string): string => hashToken(`${flowId} ${code}`);

/** Leaves each network a few once the share of a policy, or of all, is used up: a flood does not lock out other networks. */
async function takeShare({ limiter }: VisitDeps, { policy, address }: Visit): Promise<void> {
  if ((await hasRoom(limiter, 'accessCodePerPolicy', policy.policyId)) && (await hasRoom(limiter, 'accessCodeOverall', '')))
    return;
  await limiter.take('accessCodePerNetwork', `${policy.policyId} ${networkKey(address)}`);
}

/** Limits per network too, so a stranger elsewhere cannot use up a person's mails. Beyond a limit the answer stays the same. */
const isMailed = async ({ limiter }: VisitDeps, { address }: Visit, email: string): Promise<boolean> =>
  (await hasRoom(limiter, 'accessMailPerEmailAndNetwork', `${email} ${networkKey(address)}`)) &&
  (await hasRoom(limiter, 'accessMailPerEmail', email));

function codeForm(visit: Visit, { email, flow, message }: { email: string; flow: string; message?: string }) {
  const attributes = html`class="code" autocomplete="one-time-code" autocapitalize="characters" autocorrect="off" spellcheck="false" maxlength="20"`;
  const hint = 'Letters only, such as BCDF-GHJK.';
  return html`<h1>Enter the code</h1>
<p class="lead">We have emailed a code to <strong>${email}</strong>, if this person may visit ${visit.policy.host}. Enter it in this browser within ${durations.accessCodeMinutes} minutes.</p>
<form method="post" action="/access/code/enter">
${hiddenFields({ ...targetFields(visit.target), flow, email })}
${renderField({ name: 'code', label: 'Code', hint, attributes }, message)}<button class="button main">Sign in</button>
</form>
<p class="foot"><a href="${signInUrl(visit.target)}">Use another email address or get a new code</a></p>`;
}

const renderCodePage = (visit: Visit, form: { email: string; flow: string; message?: string }, cookie?: string): Response =>
  renderPage({
    title: 'Enter the code',
    status: form.message === undefined ? 200 : 403,
    body: codeForm(visit, form),
    ...(cookie === undefined ? {} : { headers: { 'set-cookie': cookie } }),
  });

export async function sendCode(deps: VisitDeps, visit: Visit, fields: { readonly email: string }): Promise<Response> {
  const { policy, request, address, nowMs } = visit;
  if (policy.grants.people.length === 0) return renderSignIn(visit);
  const parsed = parseEmail(fields.email);
  if (!parsed.ok) return renderSignIn(visit, { field: 'email', message: parsed.message, typed: fields.email }, 400);
  const email = parsed.value;
  await deps.limiter.take('accessCode', addressKey(address));
  await takeShare(deps, visit);
  const mailed = await isMailed(deps, visit, email);
  const { browserHash, cookie } = keepFlowBrowser(deps, request.headers);
  const secret = createToken();
  const content: CodeFlow = { email, browserHash };
  const flowId = await addFlow(deps, { kind: 'code', policyId: policy.policyId, secret, content }, nowMs);
  await addJob(deps.store.db, nowMs, 'access-code', { flowId, host: policy.host, email, address, isMailed: mailed });
  deps.jobs.wake();
  return renderCodePage(visit, { email, flow: secret }, cookie);
}

function isRight(deps: VisitDeps, { id, content }: SignInFlow, { request }: Visit, typed: string): boolean {
  const { browserHash, codeHash } = content as CodeFlow;
  const code = parseUserCode(typed);
  if (!code.ok || codeHash === undefined || !isFlowBrowser(deps, request.headers, browserHash)) return false;
  return timingSafeEqual(Buffer.from(hashCode(id, code.value)), Buffer.from(codeHash));
}

const overText = 'It has expired, it was used already, or too many wrong codes were entered.';

const renderOver = (visit: Visit): Response =>
  renderNote('This code no longer works', overText, {
    status: 403,
    action: { label: 'Get a new code', url: signInUrl(visit.target) },
  });

async function refuseCode(deps: VisitDeps, visit: Visit, flow: SignInFlow, secret: string): Promise<Response> {
  const { email } = flow.content as CodeFlow;
  await deps.limiter.take('accessCodeTry', addressKey(visit.address));
  await logSignIn(deps, visit, { who: email, method: 'email', reason: 'The code was wrong.' });
  return renderCodePage(visit, { email, flow: secret, message: 'This code is wrong. Check the newest email.' });
}

export async function enterCode(
  deps: VisitDeps,
  visit: Visit,
  fields: { readonly flow: string; readonly code: string },
): Promise<Response> {
  const { nowMs, policy } = visit;
  const flow = await tryFlow(deps, { kind: 'code', secret: fields.flow, mostTries: codeTries }, nowMs);
  if (flow === undefined || flow.policyId !== policy.policyId) return renderOver(visit);
  if (!isRight(deps, flow, visit, fields.code)) return refuseCode(deps, visit, flow, fields.flow);
  if ((await takeFlow(deps, 'code', fields.flow, nowMs)) === undefined) return renderOver(visit);
  const { email } = flow.content as CodeFlow;
  return finishSignIn(deps, visit, claimsOf(visit, { method: 'email', subject: email, email }));
}
