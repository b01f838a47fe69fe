// The ceremonies of WebAuthn: the options for the browser, and the check of what it answers. Everything about the protocol is
// SimpleWebAuthn's, except what is said here.

import {
  type AuthenticationResponseJSON,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { decodeAttestationObject, isoBase64URL } from '@simplewebauthn/server/helpers';
import { durations } from '@underpass/rules/limits.ts';
import { productName } from '@underpass/rules/text/text.ts';
import type { Schema } from '../../platform/store/schema.ts';

/** EdDSA, ES256, RS256: every authenticator has one of them. */
const algorithms = [-8, -7, -257];
const timeout = durations.passkeyMinutes * 60_000;

/** The site that a passkey is for. */
export interface Party {
  readonly id: string;
  readonly origin: string;
}

/** Reads the configured address, never a request's Host. */
export function partyOf(origin: string): Party {
  const url = new URL(origin);
  return { id: url.hostname, origin: url.origin };
}

type Known = Pick<Schema['passkeys'], 'credential_id' | 'transports'>;
const describe = ({ credential_id, transports }: Known) => ({
  id: credential_id,
  transports: JSON.parse(transports) as string[],
});

export interface Holder {
  readonly id: string;
  readonly email: string;
}

/** A discoverable passkey: it names its user, so signing in needs no e-mail address and no list of passkeys. */
export const creationOptions = (party: Party, user: Holder, known: readonly Known[], challenge: Uint8Array<ArrayBuffer>) =>
  generateRegistrationOptions({
    rpName: productName,
    rpID: party.id,
    userName: user.email,
    userDisplayName: user.email,
    userID: new Uint8Array(Buffer.from(user.id)),
    challenge,
    timeout,
    attestationType: 'none',
    excludeCredentials: known.map(describe),
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    supportedAlgorithmIDs: algorithms,
  });

/** Lets any passkey of this site answer if `known` is absent. */
export const requestOptions = (party: Party, known: readonly Known[], challenge: Uint8Array<ArrayBuffer>) =>
  generateAuthenticationOptions({
    rpID: party.id,
    allowCredentials: known.map(describe),
    challenge,
    timeout,
    userVerification: 'required',
  });

interface ClientData {
  readonly challenge: string;
  readonly crossOrigin?: boolean;
}

const readClientData = (text: string): ClientData => JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as ClientData;

/** The challenge that a credential answers; it is checked with the rest. */
export function challengeOf(credential: { readonly response: { readonly clientDataJSON: string } }): string {
  try {
    return String(readClientData(credential.response.clientDataJSON).challenge);
  } catch {
    return '';
  }
}

/** A foreign page must not frame the ceremony. Our headers forbid frames; the browser says so as well. */
const isFramed = (clientDataJSON: string): boolean => readClientData(clientDataJSON).crossOrigin === true;

/**
 * We ask for no attestation, so none with certificates may come: to check one, the library would fetch the revocation list from
 * an address that the certificate names. Self attestation has no certificate.
 */
function hasCertificates(attestationObject: string): boolean {
  const attestation = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject));
  const format = attestation.get('fmt');
  return !(format === 'none' || (format === 'packed' && attestation.get('attStmt').get('x5c') === undefined));
}

interface NewCredential {
  readonly id: string;
  readonly publicKey: string;
  readonly signCount: number;
}

type Creation = Pick<RegistrationResponseJSON, 'id' | 'rawId' | 'type'> & {
  readonly response: { readonly clientDataJSON: string; readonly attestationObject: string };
};
export type PasskeyAnswer = Pick<AuthenticationResponseJSON, 'id' | 'rawId' | 'type'> & {
  readonly response: { readonly clientDataJSON: string; readonly authenticatorData: string; readonly signature: string };
};

type IsOwn = (challenge: string) => boolean;

/** Undefined if anything is wrong: a caller learns nothing else. */
export async function checkCreation(party: Party, { id, rawId, type, response }: Creation, isOwn: IsOwn) {
  try {
    const { clientDataJSON, attestationObject } = response;
    if (isFramed(clientDataJSON) || hasCertificates(attestationObject)) return undefined;
    const { registrationInfo } = await verifyRegistrationResponse({
      response: { id, rawId, type, response: { clientDataJSON, attestationObject }, clientExtensionResults: {} },
      expectedChallenge: isOwn,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    });
    if (registrationInfo === undefined || registrationInfo.credential.id !== id) return undefined;
    const { publicKey, counter } = registrationInfo.credential;
    return { id, publicKey: isoBase64URL.fromBuffer(publicKey), signCount: counter } satisfies NewCredential;
  } catch {
    return undefined;
  }
}

/** The new sign count; undefined if anything is wrong. Whether the count may follow the stored one is for the caller. */
export async function checkAnswer(
  party: Party,
  { id, rawId, type, response }: PasskeyAnswer,
  known: Pick<Schema['passkeys'], 'credential_id' | 'public_key'>,
  isOwn: IsOwn,
): Promise<number | undefined> {
  try {
    const { clientDataJSON, authenticatorData, signature } = response;
    if (isFramed(clientDataJSON) || id !== known.credential_id) return undefined;
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: { id, rawId, type, response: { clientDataJSON, authenticatorData, signature }, clientExtensionResults: {} },
      expectedChallenge: isOwn,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      credential: { id, publicKey: isoBase64URL.toBuffer(known.public_key), counter: 0 },
      requireUserVerification: true,
    });
    return verified ? authenticationInfo.newCounter : undefined;
  } catch {
    return undefined;
  }
}
