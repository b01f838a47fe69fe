// Solves the self-hosted bot check: altcha's workers search in parallel, and the result is altcha's payload.
// We do not use the package's widget: it weighs 30 kB, a quarter of the sign-in page's budget.
import Pbkdf2Worker from 'altcha/workers/pbkdf2?worker';
import { fetchJson } from '../api/request.ts';

interface Challenge {
  readonly parameters: { readonly algorithm: string };
  readonly signature?: string;
}

interface Solution {
  readonly counter: number;
  readonly derivedKey: string;
}

/** More workers find the answer no sooner, and a phone has fewer fast cores than it reports. */
const mostWorkers = 4;
const searchTimeoutMs = 60_000;

/** Returns altcha's payload. */
export async function solveProofOfWork(challengeUrl: string, signal: AbortSignal): Promise<string> {
  const challenge = await fetchJson<Challenge>(challengeUrl, signal);
  const { algorithm } = challenge.parameters;
  if (!algorithm.startsWith('PBKDF2/')) throw new Error(`No worker for the algorithm ${algorithm}`);
  const solution = await search(challenge, signal);
  const { parameters, signature } = challenge;
  return btoa(JSON.stringify({ challenge: { parameters, signature }, solution }));
}

async function search(challenge: Challenge, signal: AbortSignal): Promise<Solution> {
  const count = Math.min(mostWorkers, Math.max(1, navigator.hardwareConcurrency ?? 1));
  const workers = Array.from({ length: count }, () => new Pbkdf2Worker());
  try {
    return await Promise.race([rejectOnAbort(signal), ...workers.map((worker, index) => work(worker, challenge, index, count))]);
  } finally {
    for (const worker of workers) worker.terminate();
  }
}

/** Each worker tries every count-th number, starting at its index. */
function work(worker: Worker, challenge: Challenge, index: number, count: number): Promise<Solution> {
  return new Promise((resolve, reject) => {
    worker.onerror = () => reject(new Error('The bot check cannot run in this browser'));
    worker.onmessage = ({ data }: MessageEvent<(Solution & { error?: unknown }) | null>) => {
      if (data && data.error === undefined) resolve(data);
      else reject(new Error('The bot check found no answer'));
    };
    const task = { challenge, counterMode: 'uint32', counterStart: index, counterStep: count, timeout: searchTimeoutMs };
    worker.postMessage({ type: 'work', ...task });
  });
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
