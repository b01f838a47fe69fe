// The keys of an access policy: one signs tickets and sessions, a pair the assertions for the upstream. Sealed at rest.

import { createHash, createHmac, generateKeyPairSync, randomBytes } from 'node:crypto';
import type { KeyRing } from '../../platform/secret/key-ring.ts';

export interface PolicyKeys {
  /** 32 bytes, base64url. The visit key of each region is derived from it. */
  readonly sealKey: string;
  /** ES256, private: PKCS #8, PEM. */
  readonly assertionKeyPem: string;
  readonly assertionKeyId: string;
}

const visitKeyBytes = 32;

export const keysContext = (policyId: string): string => `access_policies/${policyId}`;
export const providerSecretContext = (policyId: string): string => `access_policies/${policyId}/provider`;
export const flowContext = (flowId: string): string => `access_flows/${flowId}`;

/** RFC 7638. */
const thumbprint = ({ crv, kty, x, y }: Partial<Record<'crv' | 'kty' | 'x' | 'y', string | undefined>>): string =>
  createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');

/** The columns of a policy's row. */
export function createPolicyKeys(keyRing: KeyRing, policyId: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = publicKey.export({ format: 'jwk' });
  const assertionKeyId = thumbprint(jwk);
  const keys: PolicyKeys = {
    sealKey: randomBytes(visitKeyBytes).toString('base64url'),
    assertionKeyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    assertionKeyId,
  };
  return {
    keys_sealed: keyRing.seal(JSON.stringify(keys), keysContext(policyId)),
    assertion_jwk: JSON.stringify({ ...jwk, kid: assertionKeyId, alg: 'ES256', use: 'sig' }),
  };
}

/** Each region has its own, so an edge of one region cannot sign visits for the tunnels that the policy guards in another. */
export const visitKeyOf = ({ sealKey }: PolicyKeys, region: string): Buffer =>
  createHmac('sha256', Buffer.from(sealKey, 'base64url')).update(`region ${region}`).digest();

/** Edges do not have it: with it, one could make browsers known and guess the password. */
export const knownBrowserKeyOf = ({ sealKey }: PolicyKeys): Buffer =>
  createHmac('sha256', Buffer.from(sealKey, 'base64url')).update('known browsers').digest();

export const openPolicyKeys = (keyRing: KeyRing, policyId: string, sealed: string): PolicyKeys =>
  JSON.parse(keyRing.open(sealed, keysContext(policyId))) as PolicyKeys;
