// The public call that registers: a constant answer, whoever is registered already.

import { addressKey } from '@underpass/rules/address.ts';
import { parseRegistration } from '@underpass/rules/registration.ts';
import type { CallContext, Handlers } from '../access/call.ts';
import { passBotCheck } from '../auth/calls.ts';
import { orInvalidForm } from '../http/refusal.ts';
import { addJob } from '../job/queue.ts';
import { takeShare } from '../limit/limiter.ts';

const register = async ({ deps, body, address, nowMs }: CallContext<'register'>): Promise<void> => {
  const { botCheck, ...registration } = orInvalidForm(parseRegistration(body));
  await deps.limiter.take('register', addressKey(address));
  // Before what is counted for everybody: who has not done the work keeps nobody else out.
  await passBotCheck(deps, botCheck, address);
  await takeShare(deps.limiter, 'register', address);
  await addJob(deps.store.db, nowMs, 'registration', registration);
  deps.jobs.wake();
};

export const registrationCalls: Handlers<'register'> = { register };
