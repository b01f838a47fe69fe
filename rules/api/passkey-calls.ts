// The calls about passkeys (WebAuthn) and recovery codes. Options and credentials have the JSON of WebAuthn Level 3, section 5.1.

import type { Call } from './call.ts';

const session = { who: 'user', needs: 'session' } as const;
const lasting = { ...session, lasting: true } as const;

export const passkeyCalls = {
  listPasskeys: { ...session, method: 'GET', path: '/api/passkeys', answer: 'Passkeys' },
  /** Options for `navigator.credentials.create`. */
  startPasskey: { ...lasting, method: 'POST', path: '/api/passkeys/options', answer: 'PasskeyOptions' },
  addPasskey: { ...lasting, method: 'POST', path: '/api/passkeys', json: 'NewPasskey', answer: 'Passkey' },
  renamePasskey: { ...session, method: 'PATCH', path: '/api/passkeys/:id', json: 'PasskeyName', answer: 'Passkey' },
  /** Ends the other sessions that it signed in; all others must be confirmed again where a passkey is required. */
  removePasskey: { ...lasting, method: 'DELETE', path: '/api/passkeys/:id' },
  /** Options for `navigator.credentials.get` in a session. */
  startPasskeyProof: { ...session, method: 'POST', path: '/api/proof/options', answer: 'PasskeyOptions' },
  /** Proves with a passkey who uses the session. */
  proveByPasskey: { ...session, method: 'POST', path: '/api/proof/passkey', json: 'PasskeyAnswer' },
  /** Makes new recovery codes; earlier ones no longer work. */
  createRecoveryCodes: { ...lasting, method: 'POST', path: '/api/recovery-codes', answer: 'RecoveryCodes' },
  /** Proves with a recovery code, which then no longer works, who uses the session. */
  proveByRecoveryCode: { ...session, method: 'POST', path: '/api/proof/recovery', json: 'RecoveryCode' },
  /** Options for `navigator.credentials.get` without a session: the same for everybody. */
  startPasskeySignIn: { method: 'POST', path: '/auth/passkey/options', answer: 'PasskeyOptions', who: 'anyone' },
  signInByPasskey: { method: 'POST', path: '/auth/passkey', json: 'PasskeyAnswer', who: 'anyone' },
} as const satisfies Readonly<Record<string, Call>>;
