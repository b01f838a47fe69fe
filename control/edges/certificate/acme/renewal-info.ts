// Asking an authority when it wants a certificate renewed (RFC 9773).

import { X509Certificate } from 'node:crypto';
import type { RenewalWindow } from '../core/renewal.ts';
import { readAuthorityKeyId } from '../x509.ts';

/** The two parts of RFC 9773 4.1; a serial number begins with a zero byte if its first bit is set, as in DER. */
export function renderCertificateId(authorityKeyId: Buffer, serial: Buffer): string {
  const integer = ((serial[0] ?? 0) & 0x80) === 0 ? serial : Buffer.concat([Buffer.of(0), serial]);
  return `${authorityKeyId.toString('base64url')}.${integer.toString('base64url')}`;
}

/** Undefined for a certificate that does not name its authority's key. */
export async function certificateIdOf(chainPem: string): Promise<string | undefined> {
  const keyId = await readAuthorityKeyId(chainPem);
  const hex = new X509Certificate(chainPem).serialNumber;
  return keyId && renderCertificateId(keyId, Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex'));
}

/** Undefined unless the answer is a window; the authority then counts as having no advice. */
export function parseRenewalInfo(body: unknown): RenewalWindow | undefined {
  const window = (body as { suggestedWindow?: { start?: unknown; end?: unknown } } | null)?.suggestedWindow;
  const [startMs, endMs] = [Date.parse(String(window?.start)), Date.parse(String(window?.end))];
  return startMs < endMs ? { startMs, endMs } : undefined;
}
