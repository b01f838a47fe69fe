// Every call that browsers, the client and other programs make. Control serves this table, and the OpenAPI document shows it.

import { accessCalls } from './access-calls.ts';
import { accountCalls } from './account-calls.ts';
import { alertCalls } from './alert-calls.ts';
import { certificateCalls } from './certificate-calls.ts';
import { domainCalls } from './domain-calls.ts';
import { operatorCalls } from './operator-calls.ts';
import { passkeyCalls } from './passkey-calls.ts';
import { projectCalls } from './project-calls.ts';
import { publicCalls } from './public-calls.ts';
import { securityGroupCalls } from './security-group-calls.ts';
import { sessionCalls } from './session-calls.ts';
import { tunnelCalls } from './tunnel-calls.ts';

export const calls = {
  ...sessionCalls,
  ...publicCalls,
  ...domainCalls,
  ...certificateCalls,
  ...tunnelCalls,
  ...securityGroupCalls,
  ...accessCalls,
  ...projectCalls,
  ...alertCalls,
  ...accountCalls,
  ...passkeyCalls,
  ...operatorCalls,
} as const;

export type Calls = typeof calls;
export type CallName = keyof Calls;

/** Names of path segments and body fields that hold secrets. Logs leave them out. */
export const secretNames = [
  'token',
  'deviceCode',
  'userCode',
  'bot-check',
  'invitation',
  'credential',
  'recoveryCode',
  'key',
  'password',
  // People paste it with its key in one text.
  'chain',
  'privateKey',
] as const;
