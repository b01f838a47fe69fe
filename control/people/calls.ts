// The calls about who has an account, and what people share.

import { type AccountDeps, createAccountCalls } from './account/calls.ts';
import { type AuditDeps, createAuditCalls } from './audit/calls.ts';
import { type AuthDeps, createAuthCalls } from './auth/calls.ts';
import { createDeviceCalls, type DeviceDeps } from './device/calls.ts';
import { createInvitationCalls, type InvitationDeps } from './invitation/calls.ts';
import { createPasskeyCalls, type PasskeyDeps } from './passkey/calls.ts';
import { createProjectCalls, type ProjectDeps } from './project/calls.ts';
import { createRegistrationCalls, type RegistrationDeps } from './registration/calls.ts';
import { createTokenCalls, type TokenDeps } from './token/calls.ts';

type PeopleDeps = AuthDeps &
  AccountDeps &
  PasskeyDeps &
  RegistrationDeps &
  ProjectDeps &
  InvitationDeps &
  TokenDeps &
  DeviceDeps &
  AuditDeps;

export const createPeopleCalls = (deps: PeopleDeps) => ({
  ...createAuthCalls(deps),
  ...createAccountCalls(deps),
  ...createPasskeyCalls(deps),
  ...createRegistrationCalls(deps),
  ...createProjectCalls(deps),
  ...createInvitationCalls(deps),
  ...createTokenCalls(deps),
  ...createDeviceCalls(deps),
  ...createAuditCalls(deps),
});
