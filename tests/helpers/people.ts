// Creates users as people do: the registration form, its bot check, and the operator's approval.
import { pbkdf2 } from 'node:crypto';
import { promisify } from 'node:util';
import type { OperatorRegistration } from '@underpass/rules/entity/resource.ts';
import type { Account, Product } from './product.ts';

interface Puzzle {
  readonly parameters: { readonly nonce: string; readonly salt: string; readonly cost: number; readonly keyPrefix: string };
  readonly signature: string;
}

/** More than the most tries that a puzzle can need. */
const maxTries = 20_000;
const keyBytes = 32;
/** Asynchronous: while the event loop is blocked, the product in this process cannot tell fetch that it closed idle connections. */
const derive = promisify(pbkdf2);

/** Solves the puzzle with Node's PBKDF2: an oracle for the workers that the dashboard uses. */
async function solveBotCheck({ origin }: Product): Promise<string> {
  const puzzle = (await (await fetch(`${origin}/api/bot-check/challenge`)).json()) as Puzzle;
  const { nonce, salt, cost, keyPrefix } = puzzle.parameters;
  const password = Buffer.concat([Buffer.from(nonce, 'hex'), Buffer.alloc(4)]);
  for (let counter = 0; counter < maxTries; counter += 1) {
    password.writeUInt32BE(counter, password.length - 4);
    const derivedKey = (await derive(password, Buffer.from(salt, 'hex'), cost, keyBytes, 'sha256')).toString('hex');
    if (!derivedKey.startsWith(keyPrefix)) continue;
    const { parameters, signature } = puzzle;
    const answer = { challenge: { parameters, signature }, solution: { counter, derivedKey } };
    return Buffer.from(JSON.stringify(answer)).toString('base64');
  }
  throw new Error(`no answer to the bot check in ${maxTries} tries`);
}

export async function registerPerson(product: Product, email: string, firstName = 'Ada'): Promise<void> {
  const { origin } = product;
  const body = new FormData();
  const fields = { 'first-name': firstName, 'last-name': 'Example', email, 'accept-terms': 'true' };
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  body.set('bot-check', await solveBotCheck(product));
  const answer = await fetch(`${origin}/auth/register`, { method: 'POST', headers: { origin }, body });
  if (!answer.ok) throw new Error(`the registration was refused: ${answer.status} ${await answer.text()}`);
}

/** Registers, approves and signs in a user, who owns a new project. */
export async function createPerson(product: Product, email: string, firstName?: string): Promise<Account> {
  await registerPerson(product, email, firstName);
  await within(`the registration of ${email} to be there`, () => product.operate('registrations', 'approve', email));
  return product.signIn(email);
}

/** Waits until the operator's list shows the registration: a background job stores it. */
export function registrationStored(operator: Account, email: string): Promise<unknown> {
  return within(`the registration of ${email} in the list`, async () => {
    const { body } = await operator.call<readonly OperatorRegistration[]>('GET', '/api/operator/registrations?state=waiting');
    if (!body.some((registration) => registration.email === email)) throw new Error('not yet');
  });
}

/** Retries `work` until it succeeds. */
async function within<T>(what: string, work: () => Promise<T>, limitMs = 30_000): Promise<T> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    try {
      return await work();
    } catch (cause) {
      if (performance.now() > deadline) throw new Error(`no success within ${limitMs} ms: ${what}`, { cause });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
