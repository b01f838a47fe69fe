// The calls about passkeys (WebAuthn) and recovery codes. Options and credentials have the JSON of WebAuthn Level 3, section 5.1.

import type { Call } from './call.ts';

export const passkeyCalls = {
  listPasskeys: { method: 'GET', path: '/api/passkeys', answer: 'Passkeys', who: 'user', needs: 'session' },
  /** Options for `navigator.credentials.create`. */
  startPasskey: {
    method: 'POST',
    path: '/api/passkeys/options',
    answer: 'PasskeyOptions',
    who: 'user',
    needs: 'session',
    lasting: true,
  },
  addPasskey: {
    method: 'POST',
    path: '/api/passkeys',
    json: 'NewPasskey',
    answer: 'Passkey',
    who: 'user',
    needs: 'session',
    lasting: true,
  },
  renamePasskey: {
    method: 'PATCH',
    path: '/api/passkeys/:id',
    json: 'PasskeyName',
    answer: 'Passkey',
    who: 'user',
    needs: 'session',
  },
  /** Ends the other sessions that it signed in; all others must be confirmed again where a passkey is required. */
  removePasskey: { method: 'DELETE', path: '/api/passkeys/:id', who: 'user', needs: 'session', lasting: true },
  /** Options for `navigator.credentials.get` in a session. */
  startPasskeyProof: { method: 'POST', path: '/api/proof/options', answer: 'PasskeyOptions', who: 'user', needs: 'session' },
  /** Proves with a passkey who uses the session. */
  proveByPasskey: { method: 'POST', path: '/api/proof/passkey', json: 'PasskeyAnswer', who: 'user', needs: 'session' },
  /** Makes new recovery codes; earlier ones no longer work. */
  createRecoveryCodes: {
    method: 'POST',
    path: '/api/recovery-codes',
    answer: 'RecoveryCodes',
    who: 'user',
    needs: 'session',
    lasting: true,
  },
  /** Proves with a recovery code, which then no longer works, who uses the session. */
  proveByRecoveryCode: { method: 'POST', path: '/api/proof/recovery', json: 'RecoveryCode', who: 'user', needs: 'session' },
  /** Options for `navigator.credentials.get` without a session: the same for everybody. */
  startPasskeySignIn: { method: 'POST', path: '/auth/passkey/options', answer: 'PasskeyOptions', who: 'anyone' },
  signInByPasskey: { method: 'POST', path: '/auth/passkey', json: 'PasskeyAnswer', who: 'anyone' },
} as const satisfies Readonly<Record<string, Call>>;
