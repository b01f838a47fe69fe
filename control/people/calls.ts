// The calls about who has an account, and what people share.

import { accountHandlers } from './account/calls.ts';
import { auditHandlers } from './audit/calls.ts';
import { authHandlers } from './auth/calls.ts';
import { deviceHandlers } from './device/calls.ts';
import { invitationHandlers } from './invitation/calls.ts';
import { passkeyHandlers } from './passkey/calls.ts';
import { projectHandlers } from './project/calls.ts';
import { registrationHandlers } from './registration/calls.ts';
import { tokenHandlers } from './token/calls.ts';

export const peopleHandlers = {
  ...{ ...authHandlers, ...accountHandlers, ...passkeyHandlers, ...registrationHandlers },
  ...{ ...projectHandlers, ...invitationHandlers, ...tokenHandlers, ...deviceHandlers, ...auditHandlers },
};
