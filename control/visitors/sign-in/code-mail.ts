// The mail with a visitor's code. The job makes the code, so that the stored job holds no secret.

import { randomInt } from 'node:crypto';
import { generateUserCode } from '@underpass/rules/people/device-code.ts';
import { isListed } from '@underpass/rules/visit/grants.ts';
import type { JobPayloads } from '../../platform/job/queue.ts';
import type { SendMail } from '../../platform/mail/mail.ts';
import { accessCodeMail } from '../../platform/mail/mails.ts';
import type { CallDeps } from '../../request/deps.ts';
import { findSignInPolicy, type SignInPolicy } from '../policies/find-sign-in-policy.ts';
import { hashCode } from './code.ts';
import { changeFlow } from './flow.ts';
import { logSignIn } from './sign-in-log.ts';

interface CodeMailDeps extends Pick<CallDeps, 'store' | 'keyRing' | 'clock' | 'log' | 'limiter'> {
  readonly sendMail: SendMail;
}

function logStranger(deps: CodeMailDeps, policy: SignInPolicy, { email, address }: JobPayloads['access-code']): Promise<void> {
  const reason = 'The policy does not list this address.';
  return logSignIn(deps, { policy, address, nowMs: deps.clock() }, { who: email, method: 'email', reason });
}

/** Sends nothing to an address that the policy does not list. The caller got the same answer. */
export async function sendAccessCode(deps: CodeMailDeps, payload: JobPayloads['access-code']): Promise<void> {
  const { flowId, host, email, isMailed } = payload;
  const policy = await findSignInPolicy(deps.store.db, deps.keyRing, host, deps.clock());
  if (!isMailed || policy === undefined) return;
  if (!isListed(email, policy.grants.people)) return logStranger(deps, policy, payload);
  const code = generateUserCode((bound) => randomInt(bound));
  const isKept = await changeFlow(deps, flowId, (content) => ({ ...(content as object), codeHash: hashCode(flowId, code) }));
  if (isKept) await deps.sendMail({ to: email, ...accessCodeMail({ code, host, projectName: policy.projectName }) });
}
