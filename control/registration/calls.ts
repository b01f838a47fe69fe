// The public call that registers: a constant answer, whoever is registered already.

import { addressKey } from '@underpass/rules/address.ts';
import { parseRegistration } from '@underpass/rules/registration.ts';
import type { CallContext, Handlers } from '../access/call.ts';
import type { BotCheck } from '../auth/bot-check.ts';
import { passBotCheck } from '../auth/bot-check.ts';
import { orInvalidForm } from '../http/refusal.ts';
import { addJob, type JobQueue } from '../job/queue.ts';
import { type Limiter, takeShare } from '../limit/limiter.ts';
import type { Store } from '../store/store.ts';

export interface RegistrationDeps {
  readonly store: Store;
  readonly limiter: Limiter;
  readonly jobs: Pick<JobQueue, 'wake'>;
  readonly botCheck: BotCheck;
}

const register = async (deps: RegistrationDeps, { body, address, nowMs }: CallContext<'register'>): Promise<void> => {
  const { botCheck, ...registration } = orInvalidForm(parseRegistration(body));
  await deps.limiter.take('register', addressKey(address));
  // Before what is counted for everybody: who has not done the work keeps nobody else out.
  await passBotCheck(deps.botCheck, botCheck, address);
  await takeShare(deps.limiter, 'register', address);
  await addJob(deps.store.db, nowMs, 'registration', registration);
  deps.jobs.wake();
};

export const createRegistrationCalls = (deps: RegistrationDeps): Handlers<'register'> => ({
  register: (context) => register(deps, context),
});
