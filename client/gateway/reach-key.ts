// The key of a client that carries private tunnels: its certificate, by whose pin others know it, and the grants of tickets. A
// grant is what the holder of a ticket shows to this client alone, inside TLS; who has not the key cannot make one.

import { createHmac, createPrivateKey, timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import { configFolder } from '../account/credentials.ts';
import type { LoadedTunnel } from '../config/loaded-tunnel.ts';
import type { Io } from '../process/io.ts';
import type { Output } from '../terminal/output.ts';
import { type Identity, isMissing, loadIdentity } from './identity.ts';

const reachKeyPath = (io: Io, file: string | undefined): string => file ?? join(configFolder(io), 'reach.pem');

/** A private tunnel with its key, which is made at the first start; any other as it is. */
export async function withReachKey(io: Io, tunnel: LoadedTunnel, output: Output): Promise<LoadedTunnel> {
  const { private: settings } = tunnel.config;
  if (settings === undefined) return tunnel;
  const { keyPem, certificatePem, pin } = await loadIdentity(reachKeyPath(io, settings.keyFile), 'reach-key-invalid');
  output.notice(`Key of this client (SHA-256): ${pin}`);
  return { ...tunnel, reachKey: `${keyPem}\n${certificatePem}\n` };
}

/** The key, or null if there is none. */
export async function findReachKey(io: Io, file: string | undefined): Promise<Identity | null> {
  const path = reachKeyPath(io, file);
  return (await isMissing(path)) ? null : loadIdentity(path, 'reach-key-invalid');
}

/** 128 bits: nobody can try values faster than this client answers. */
const macChars = 32;
/** `ID-END-MAC`: 16 digits, the end in seconds by base 36 (0: none), the MAC of both. It fits one label. */
const grantPattern = /^([0-9a-f]{16}-([0-9a-z]{1,7}))-([0-9a-f]{32})$/;

function macOf(keyPem: string, body: string): Buffer {
  const key = createPrivateKey(keyPem).export({ format: 'der', type: 'pkcs8' });
  const secret = createHmac('sha256', key).update('underpass reach grants').digest();
  return Buffer.from(createHmac('sha256', secret).update(body).digest('hex').slice(0, macChars));
}

/** `id`: 16 hexadecimal digits, random. */
export function createGrant({ keyPem }: Pick<Identity, 'keyPem'>, id: string, endsAtMs: number | null): string {
  const body = `${id}-${(endsAtMs === null ? 0 : Math.floor(endsAtMs / 1000)).toString(36)}`;
  return `${body}-${macOf(keyPem, body)}`;
}

export function isGrant({ keyPem }: Pick<Identity, 'keyPem'>, text: string, nowMs: number): boolean {
  const [, body = '', end = '', mac = ''] = grantPattern.exec(text) ?? [];
  if (body === '' || !timingSafeEqual(macOf(keyPem, body), Buffer.from(mac))) return false;
  const endsAt = Number.parseInt(end, 36);
  return endsAt === 0 || endsAt * 1000 > nowMs;
}
