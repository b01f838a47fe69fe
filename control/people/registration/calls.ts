// The public call that registers. It answers the same whether or not the e-mail is already registered.

import { addressKey } from '@underpass/rules/address/address.ts';
import { parseRegistration } from '@underpass/rules/people/registration.ts';
import { addJob, type JobQueue } from '../../platform/job/queue.ts';
import { type Limiter, takeShare } from '../../platform/limit/limiter.ts';
import type { Store } from '../../platform/store/store.ts';
import type { CallContext, Handlers } from '../../request/caller/call.ts';
import { orInvalidForm } from '../../request/http/refusal.ts';
import type { BotCheck } from '../auth/bot-check.ts';
import { passBotCheck } from '../auth/bot-check.ts';

export interface RegistrationDeps {
  readonly store: Store;
  readonly limiter: Limiter;
  readonly jobs: Pick<JobQueue, 'wake'>;
  readonly botCheck: BotCheck;
}

async function register(deps: RegistrationDeps, { body, address, nowMs }: CallContext<'register'>): Promise<void> {
  const { botCheck, ...registration } = orInvalidForm(parseRegistration(body));
  await deps.limiter.take('register', addressKey(address));
  // Before the limit that all callers share: a bot that skips the check must not lock others out.
  await passBotCheck(deps.botCheck, botCheck, address);
  await takeShare(deps.limiter, 'register', address);
  await addJob(deps.store.db, nowMs, 'registration', registration);
  deps.jobs.wake();
}

export const createRegistrationCalls = (deps: RegistrationDeps): Handlers<'register'> => ({
  register: (context) => register(deps, context),
});
