// Passkeys: their names and number, when a session counts as proven by one, the sign counter, and recovery codes.

import { limits } from '../limits.ts';
import type { Parsed } from '../parsed.ts';
import { parseSingleLine } from '../text/single-line.ts';
import { createTypedCode } from '../text/typed-code.ts';

/**
 * What a session has proven with a passkey or a recovery code: nothing, some time ago, or within the last minutes
 * (`durations.proofMinutes`). An API token counts as proven if the user who made it has a passkey.
 */
export type PasskeyProof = 'none' | 'proven' | 'fresh';

export function parsePasskeyName(text: string): Parsed<string> {
  return parseSingleLine(text, { required: true, maxChars: limits.passkeyNameChars });
}

export const passkeyNeededMessage = 'A passkey is required here. Add one on your account page, or confirm with the one you have.';
export const linkNotEnoughMessage = 'An emailed link is not enough for this. Confirm with your passkey or a recovery code.';
export const passkeyFailedMessage = 'This passkey could not sign you in. Try again, or sign in with your email address.';
export const passkeyRefusedMessage = 'This passkey could not be used. Please try again.';
export const passkeyTakenMessage = 'This passkey is registered already.';
export const tooManyPasskeysMessage = `You may have at most ${limits.passkeysPerUser} passkeys. Remove one first.`;
export const lastPasskeyMessage = 'You need a passkey, and this is your last one. Add another one first.';
export const noPasskeyMessage = 'Recovery codes replace a lost passkey. Add a passkey first.';
export const ownPasskeyFirstMessage = 'Add a passkey to your own account and confirm with it first.';
export const wrongRecoveryCodeMessage = 'This recovery code is wrong or was used before.';

/**
 * Who may add and remove passkeys and make recovery codes. With a passkey on the account an e-mail link is not enough: a thief
 * of the mailbox could otherwise add a passkey of their own.
 */
export function mayChangePasskeys(
  session: { readonly fresh: boolean; readonly passkey: PasskeyProof },
  passkeys: number,
): boolean {
  return passkeys === 0 ? session.fresh : session.passkey === 'fresh';
}

/**
 * Whether a passkey's sign counter may follow the stored one (WebAuthn 6.1.1). Passkeys that several devices share never count
 * and send 0. A counter that does not grow means that the passkey was copied.
 */
export function isNextSignCount(stored: number, given: number): boolean {
  return given > stored || (given === 0 && stored === 0);
}

/** 20^20 is 2^86: too many to try, even for a thief of the hashes. */
export const { generate: generateRecoveryCode, parse: parseRecoveryCode } = createTypedCode(
  4,
  5,
  'Enter a code such as BCDFG-HJKLM-NPQRS-TVWXZ.',
);
