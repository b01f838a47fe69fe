// Challenges of WebAuthn: random, signed with what they are for and who asked, and spent when they are answered. Nothing is
// stored for one that nobody answers, so asking for challenges fills no table.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { durations } from '@underpass/rules/limits.ts';
import { hashToken } from '../../platform/secret/token.ts';
import type { Queries } from '../../platform/store/store.ts';

/** What an answer is good for, and only for that. */
type Purpose = 'add' | 'prove' | 'sign-in';

export interface Asked {
  readonly purpose: Purpose;
  /** The session, or the hash of the browser's cookie, that asked. Only the same one can answer. */
  readonly holder: string;
}

const lifeMs = durations.passkeyMinutes * 60_000;
const randomLength = 16;
const timeLength = 8;
const signatureLength = 32;
const headLength = randomLength + timeLength;

const sign = (secret: string, head: Buffer, { purpose, holder }: Asked): Buffer =>
  createHmac('sha256', secret).update(`${purpose}\0${holder}\0`).update(head).digest();

export function createChallenge(secret: string, asked: Asked, nowMs: number): Uint8Array<ArrayBuffer> {
  const expires = Buffer.alloc(timeLength);
  expires.writeBigUInt64BE(BigInt(nowMs + lifeMs));
  const head = Buffer.concat([randomBytes(randomLength), expires]);
  return new Uint8Array(Buffer.concat([head, sign(secret, head, asked)]));
}

const headOf = (challenge: string): Buffer => Buffer.from(challenge, 'base64url').subarray(0, headLength);

/** Whether we made this challenge for that and it has not expired. A challenge from the future is from before the clock went back. */
export function isOwnChallenge(secret: string, challenge: string, asked: Asked, nowMs: number): boolean {
  const bytes = Buffer.from(challenge, 'base64url');
  if (bytes.length !== headLength + signatureLength) return false;
  const head = bytes.subarray(0, headLength);
  if (!timingSafeEqual(sign(secret, head, asked), bytes.subarray(headLength))) return false;
  const leftMs = Number(head.readBigUInt64BE(randomLength)) - nowMs;
  return leftMs > 0 && leftMs <= lifeMs;
}

/** True the first time, in the transaction of what the answer does. The row outlives the challenge by its own life. */
export async function spendChallenge(trx: Queries, challenge: string, nowMs: number): Promise<boolean> {
  const answer = { answer_hash: hashToken(`passkey ${headOf(challenge).toString('hex')}`), expires_at: nowMs + 2 * lifeMs };
  const inserted = await trx
    .insertInto('spent_answers')
    .values(answer)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return (inserted.numInsertedOrUpdatedRows ?? 0n) > 0n;
}
