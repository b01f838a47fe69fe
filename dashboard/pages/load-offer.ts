// Asks what an invitation is to, for the pages that its link opens.
import { projectCalls } from '@underpass/rules/api/project-calls.ts';
import type { InvitationOffer } from '@underpass/rules/entity/resource.ts';
import { isApiError } from '../api/error.ts';
import { callApi } from '../api/request.ts';

/** A text if control refuses the link. */
export async function loadOffer(token: string, signal: AbortSignal): Promise<InvitationOffer | string> {
  try {
    return await callApi(projectCalls.checkInvitation, { payload: { token } }, { signal });
  } catch (error) {
    if (isApiError(error) && error.status === 400) return error.message;
    throw error;
  }
}
