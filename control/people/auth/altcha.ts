// The self-hosted bot check: a signed proof-of-work puzzle. The store keeps spent answers, so each counts once.

import { urlOf } from '@underpass/rules/api/call.ts';
import { publicCalls } from '@underpass/rules/api/public-calls.ts';
import { createChallenge, type Payload, randomInt, verifySolution } from 'altcha-lib';
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2';
import { hashToken } from '../../platform/secret/token.ts';
import { isUniqueViolation } from '../../platform/store/store.ts';
import type { CallDeps } from '../../request/deps.ts';
import type { BotCheck } from './bot-check.ts';

interface AltchaDeps extends Pick<CallDeps, 'store' | 'clock'> {
  /** The first signs challenges; each may have signed one. */
  readonly secrets: () => readonly [newest: string, ...older: string[]];
  /** Rounds of PBKDF2 per try. 5,000 with 100 to 1,000 tries cost a browser about half a second. */
  readonly cost: number;
}

// Enough time to fill in a form slowly.
const puzzleLifeMs = 20 * 60_000;
const fewestTries = 100;
const mostTries = 1_000;

function parsePayload(answer: string): Payload | undefined {
  try {
    const payload = JSON.parse(Buffer.from(answer, 'base64').toString('utf8')) as Payload;
    const isWhole = typeof payload?.challenge?.parameters?.nonce === 'string' && typeof payload.solution?.counter === 'number';
    return isWhole ? payload : undefined;
  } catch {
    return undefined;
  }
}

const secretsOf = (secret: string) => ({ hmacSignatureSecret: secret, hmacKeySignatureSecret: `${secret}:key` });

export function createAltcha({ store, clock, secrets, cost }: AltchaDeps): BotCheck {
  const isSolved = async ({ challenge, solution }: Payload): Promise<boolean> => {
    // Checked with our clock. The library then checks with the system's, and can only refuse more.
    if ((challenge.parameters.expiresAt ?? 0) * 1000 <= clock()) return false;
    for (const secret of secrets()) {
      const result = await verifySolution({ challenge, solution, deriveKey, ...secretsOf(secret) });
      if (result.verified) return true;
    }
    return false;
  };

  /** The nonce is signed, so one answer cannot be presented as two. */
  const spend = async (nonce: string): Promise<boolean> => {
    const nowMs = clock();
    try {
      await store.db
        .insertInto('spent_answers')
        .values({ answer_hash: hashToken(nonce), expires_at: nowMs + 2 * puzzleLifeMs })
        .execute();
      return true;
    } catch (error) {
      if (isUniqueViolation(error)) return false;
      throw error;
    }
  };

  return {
    describe: () => ({ kind: 'altcha', challengeUrl: urlOf(publicCalls.getBotChallenge, {}) }),
    createChallenge: () =>
      createChallenge({
        algorithm: 'PBKDF2/SHA-256',
        cost,
        counter: randomInt(mostTries, fewestTries),
        expiresAt: Math.floor((clock() + puzzleLifeMs) / 1000),
        deriveKey,
        ...secretsOf(secrets()[0]),
      }),
    verify: async (answer) => {
      const payload = parsePayload(answer);
      if (!payload) return false;
      const isRight = await isSolved(payload).catch(() => false);
      return isRight && spend(payload.challenge.parameters.nonce);
    },
  };
}
