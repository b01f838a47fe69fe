// The bot check by Cloudflare Turnstile. Its server accepts each token once. We ask with a timeout, and refuse without an answer.

import type { CallDeps } from '../../request/deps.ts';
import { readBounded } from '../../request/http/body.ts';
import type { BotCheck } from './bot-check.ts';

// The expected answer has some 300 bytes.
const answerMaxBytes = 64 * 1024;

interface TurnstileDeps extends Pick<CallDeps, 'origin' | 'log'> {
  readonly siteKey: string;
  readonly secret: string;
  readonly url: string;
  readonly timeoutMs?: number;
}

interface Verdict {
  readonly success?: boolean;
  readonly hostname?: string;
}

export function createTurnstile({ siteKey, secret, url, origin, log, timeoutMs = 5_000 }: TurnstileDeps): BotCheck {
  const ask = async (answer: string, address: string): Promise<Verdict> => {
    const response = await fetch(url, {
      method: 'POST',
      body: new URLSearchParams({ secret, response: answer, remoteip: address }),
      signal: AbortSignal.timeout(timeoutMs),
      redirect: 'error',
    });
    return response.ok ? (JSON.parse((await readBounded(response, answerMaxBytes)).toString('utf8')) as Verdict) : {};
  };
  return {
    describe: () => ({ kind: 'turnstile', siteKey }),
    createChallenge: async () => undefined,
    verify: async (answer, address) => {
      try {
        const verdict = await ask(answer, address);
        // A token that was solved on another site with our key does not count.
        return verdict.success === true && verdict.hostname === new URL(origin).hostname;
      } catch (error) {
        log.warn({ err: error }, 'turnstile did not answer');
        return false;
      }
    },
  };
}
