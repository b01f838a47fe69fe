// Who is signed in.
import { sessionCalls } from '@underpass/rules/api/session-calls.ts';
import type { User } from '@underpass/rules/entity/entity.ts';
import { isApiError } from './error.ts';
import { callApi } from './request.ts';

/** undefined: the browser has no session. */
export async function getUser(): Promise<User | undefined> {
  try {
    return await callApi(sessionCalls.getUser, {});
  } catch (error) {
    if (isApiError(error) && error.status === 401) return undefined;
    throw error;
  }
}
