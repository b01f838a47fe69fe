// People with accounts, made the way people make them: the registration form, its bot check, and the operator's approval.
import { pbkdf2 } from 'node:crypto';
import { promisify } from 'node:util';
import type { OperatorRegistration } from '@underpass/rules/resource.ts';
import type { Account, Product } from './product.ts';

interface Puzzle {
  readonly parameters: { readonly nonce: string; readonly salt: string; readonly cost: number; readonly keyPrefix: string };
  readonly signature: string;
}

/** More than the most tries that a puzzle may cost. */
const maxTries = 20_000;
const keyBytes = 32;
/** Beside the event loop: while that stands, the product in this process closes connections that the next call takes for open. */
const derive = promisify(pbkdf2);

/** The answer of a browser, found by Node's own PBKDF2: an oracle for the workers that the dashboard uses. */
export async function solveBotCheck({ origin }: Product): Promise<string> {
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

/** Registered, approved and signed in; owner of a project of their own. */
export async function createPerson(product: Product, email: string, firstName?: string): Promise<Account> {
  await registerPerson(product, email, firstName);
  await within(`the registration of ${email} to be there`, () => product.operate('registrations', 'approve', email));
  return product.signIn(email);
}

/** A registration is stored by a job, and the operator's list shows what is there when it is asked for. */
export function registrationStored(operator: Account, email: string): Promise<unknown> {
  return within(`the registration of ${email} in the list`, async () => {
    const { body } = await operator.call<readonly OperatorRegistration[]>('GET', '/api/operator/registrations?state=waiting');
    if (!body.some((registration) => registration.email === email)) throw new Error('not yet');
  });
}

/** Tries until it works. */
async function within<T>(what: string, work: () => Promise<T>, limitMs = 30_000): Promise<T> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    try {
      return await work();
    } catch (cause) {
      if (performance.now() > deadline) throw new Error(`waited for ${what} in vain`, { cause });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
