// The ceremonies of WebAuthn: asks control for options, the browser for the passkey, and gives control the answer. Import it only when
// a person uses a passkey: it brings SimpleWebAuthn.
import {
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser';
import type { PayloadOf } from '@underpass/rules/api/call.ts';
import { passkeyCalls } from '@underpass/rules/api/passkey-calls.ts';
import type { PasskeyOptions } from '@underpass/rules/entity/resource.ts';
import { callApi } from './request.ts';

/** Reasons by the name of the browser's error (WebAuthn 5.1.3, 5.1.4). Its own texts are for developers. */
const reasons: Readonly<Record<string, string>> = {
  NotAllowedError: 'No passkey was confirmed. Try again when you are ready.',
  AbortError: 'No passkey was confirmed. Try again when you are ready.',
  InvalidStateError: 'This device has a passkey for your account already.',
  SecurityError: 'The browser does not allow passkeys at this address. Open the dashboard over https.',
  NotSupportedError: 'This device cannot create a passkey. Use another device or a security key.',
};

async function withReason<T>(ceremony: Promise<T>): Promise<T> {
  try {
    return await ceremony;
  } catch (error) {
    throw new Error(reasons[error instanceof Error ? error.name : ''] ?? 'The passkey could not be used.', { cause: error });
  }
}

type Answer = PayloadOf<typeof passkeyCalls.proveByPasskey>['credential'];
type Created = PayloadOf<typeof passkeyCalls.addPasskey>['credential'];

async function answer(options: PasskeyOptions): Promise<Answer> {
  const optionsJSON = options as unknown as PublicKeyCredentialRequestOptionsJSON;
  return (await withReason(startAuthentication({ optionsJSON }))) as Answer;
}

export async function signInByPasskey(): Promise<void> {
  const credential = await answer(await callApi(passkeyCalls.startPasskeySignIn, {}));
  await callApi(passkeyCalls.signInByPasskey, { payload: { credential } });
}

export async function proveByPasskey(): Promise<void> {
  const credential = await answer(await callApi(passkeyCalls.startPasskeyProof, {}));
  await callApi(passkeyCalls.proveByPasskey, { payload: { credential } });
}

export async function addPasskey(name: string): Promise<void> {
  const optionsJSON = (await callApi(passkeyCalls.startPasskey, {})) as unknown as PublicKeyCredentialCreationOptionsJSON;
  const credential = (await withReason(startRegistration({ optionsJSON }))) as unknown as Created;
  await callApi(passkeyCalls.addPasskey, { payload: { name, credential } });
}
