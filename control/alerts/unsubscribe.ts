// Ends the alert mails of one person and project with one click, without a session (RFC 8058). The link holds a signed text that names
// both and ends. Mail scanners open links, so GET only shows a button.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { alertLimits, dayMs } from '@underpass/rules/limits.ts';
import { productName } from '@underpass/rules/text/text.ts';
import type { Env, Hono } from 'hono';
import type { KeyRing } from '../platform/secret/key-ring.ts';
import type { CallDeps } from '../request/deps.ts';
import { limitedAddress } from '../request/http/address.ts';
import { answerMethod } from '../request/http/method.ts';
import { html, renderNote, renderPage } from '../visitors/sign-in/page.ts';
import { keepMailing } from './mailing.ts';

export interface Subscription {
  readonly projectId: string;
  readonly userId: string;
}

const purpose = 'alert-unsubscribe';
const lifeMs = alertLimits.unsubscribeDays * dayMs;

const sign = (key: string, text: string): string => createHmac('sha256', key).update(text).digest('base64url');

/** `project.user.end.signature` */
export function signSubscription(keyRing: KeyRing, { projectId, userId }: Subscription, nowMs: number): string {
  const text = `${projectId}.${userId}.${(nowMs + lifeMs).toString(36)}`;
  return `${text}.${sign(keyRing.derive(purpose)[0], text)}`;
}

function isSignature(given: string, wanted: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(wanted)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/** Undefined if nobody here signed it, or it has ended. */
export function readSubscription(keyRing: KeyRing, token: string, nowMs: number): Subscription | undefined {
  const match = /^(([0-9a-z]{26})\.([0-9a-z]{26})\.([0-9a-z]{1,11}))\.([\w-]{43})$/.exec(token);
  if (match === null) return undefined;
  const [, text = '', projectId = '', userId = '', end = '', given = ''] = match;
  if (!keyRing.derive(purpose).some((key) => isSignature(given, sign(key, text)))) return undefined;
  return Number.parseInt(end, 36) > nowMs ? { projectId, userId } : undefined;
}

const path = '/alerts/unsubscribe/';

export const unsubscribeUrl = (keyRing: KeyRing, origin: string, who: Subscription, nowMs: number): string =>
  `${origin}${path}${signSubscription(keyRing, who, nowMs)}`;

type UnsubscribeDeps = Pick<CallDeps, 'store' | 'keyRing' | 'limiter' | 'clock'>;

const foot = html`You get these mails because you are a member of a project on ${productName}.`;

const renderWrong = (): Response =>
  renderNote(
    'This link does not work',
    'It has ended, or is not complete. Sign in, and switch the mails off on the page Alerts.',
    {
      ...{ status: 400, foot, action: { label: 'Sign in', url: '/login' } },
    },
  );

const renderQuestion = (): Response =>
  renderPage({
    ...{ title: 'Alert mails', foot },
    body: html`<h1>Stop alert mails?</h1>
<p class="lead">You get no more mails about alerts of this project. Its page Alerts still shows them, and switches the mails on again.</p>
<form method="post"><button class="button" type="submit">Stop the mails</button></form>`,
  });

async function unsubscribe({ store, clock }: UnsubscribeDeps, { projectId, userId }: Subscription): Promise<Response> {
  await store.write((trx) => keepMailing(trx, projectId, userId, { mail: 0, waiting: 0, told_until: clock() }));
  return renderNote('No more alert mails', 'You get no more mails about alerts of this project.', { foot });
}

type Bindings = { Bindings: { readonly address: string } };

/** The body of a POST is not read: the link says everything, and nobody but its owner has it. */
export function addUnsubscribe<E extends Bindings & Env>(app: Hono<E>, deps: UnsubscribeDeps): void {
  const answer = async (token: string, source: string, then: (who: Subscription) => Response | Promise<Response>) => {
    await deps.limiter.take('accessPage', source);
    const who = readSubscription(deps.keyRing, token, deps.clock());
    return who === undefined ? renderWrong() : then(who);
  };
  const route = `${path}:token`;
  const sourceOf = ({ env, req }: { readonly env: unknown; readonly req: { readonly raw: Request } }): string =>
    limitedAddress((env as Bindings['Bindings']).address, req.raw.headers);
  app.get(route, (c) => answer(c.req.param('token') ?? '', sourceOf(c), renderQuestion));
  app.post(route, (c) => answer(c.req.param('token') ?? '', sourceOf(c), (who) => unsubscribe(deps, who)));
  app.all(route, (c) => answerMethod(c.req.raw, ['GET', 'POST']));
}
