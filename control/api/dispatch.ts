// Runs one request through its call: identify, permit, read the body, identify and permit again, handle, answer.
// The rules and the call table decide; this file only sets the order.

import type { Call } from '@underpass/rules/api/call.ts';
import { type CallName, calls } from '@underpass/rules/api/calls.ts';
import { queryShapeOf } from '@underpass/rules/api/schemas.ts';
import { isPlainWord } from '@underpass/rules/text/characters.ts';
import type { z } from 'zod';
import { hashToken } from '../platform/secret/token.ts';
import { credentialOf, takeAllowance, userShare } from '../request/caller/allowance.ts';
import type { CallContext, Handlers } from '../request/caller/call.ts';
import type { Caller } from '../request/caller/caller.ts';
import { findCaller, type IdentifyDeps, readCredential } from '../request/caller/identify.ts';
import { auditRefusedCall } from '../request/caller/refusal-audit.ts';
import type { CallDeps } from '../request/deps.ts';
import { limitedAddress } from '../request/http/address.ts';
import { readBody } from '../request/http/body.ts';
import { isForeignRead, isOwnRequest, isUnsafe } from '../request/http/origin.ts';
import { Refusal, type RefusalCode, refuse } from '../request/http/refusal.ts';
import { permit, type Values } from './permit.ts';

export type DispatchDeps = IdentifyDeps & Pick<CallDeps, 'store' | 'limiter' | 'clock' | 'origin'>;

export interface Incoming extends Values {
  readonly name: CallName;
  readonly request: Request;
  readonly address: string;
  /** Called as soon as it is known who calls, and for which project: the log names both, also if the call is refused then. */
  readonly onKnown: (who: { readonly user?: string; readonly project?: string }) => void;
}

const notPlain = 'must not hold control characters.';

/** No stored name has control characters, and Postgres would refuse a query that has NUL. */
function refuseOddSegments(segments: Values['segments']): void {
  if (!Object.values(segments).every(isPlainWord)) refuse('invalid', `The path ${notPlain}`);
}

const isOptional = (schema: z.ZodType): boolean => schema.safeParse(undefined).success;

/** The parameters of the call: each at most once, and all required ones. Ignores others. */
export function readQuery(search: URLSearchParams, call: Call): Record<string, string> {
  const query: Record<string, string> = {};
  for (const [name, schema] of Object.entries(queryShapeOf(call))) {
    const [value, ...more] = search.getAll(name);
    if (more.length > 0) refuse('invalid', `Query parameter '${name}' is given twice.`);
    if (value !== undefined && !isPlainWord(value)) refuse('invalid', `Query parameter '${name}' ${notPlain}`);
    if (value !== undefined && value !== '') query[name] = value;
    // permit.ts reports a missing `project` once it knows the caller: without a sign-in the answer is 401.
    else if (!isOptional(schema) && name !== 'project') refuse('invalid', `Query parameter '${name}' is missing.`);
  }
  return query;
}

function answerOf(result: unknown): Response {
  if (result instanceof Response) return result;
  if (result === undefined) return new Response(null, { status: 204 });
  return Response.json(result);
}

const isForeign = (origin: string, call: Call, { method, headers }: Request): boolean =>
  isUnsafe(method) ? !isOwnRequest(headers, origin) : call.who !== 'anyone' && isForeignRead(headers);

/**
 * Counts before the look-up in the database, by credential and by address. If the caller is signed in, the address gets its
 * point back, for others who share it.
 */
async function identify(deps: DispatchDeps, { request, address }: Incoming): Promise<Caller | null> {
  const { headers } = request;
  const credential = readCredential(headers, deps.cookies);
  if (credential !== undefined) await deps.limiter.take('apiPerCredential', hashToken(credential));
  const source = limitedAddress(address, headers);
  await deps.limiter.take('apiPerAddress', source);
  const sender = await findCaller(deps, headers, deps.clock());
  if (sender) await deps.limiter.giveBack('apiPerAddress', source);
  return sender;
}

const byCaller = new Set<RefusalCode>(['signedOut', 'forbidden', 'sessionNeeded', 'proofNeeded', 'passkeyNeeded', 'missing']);

/** Runs the call. What the check of the caller refuses counts by itself, so that it uses up no limit of what the caller may do. */
async function countRefused<T>(
  deps: DispatchDeps,
  caller: Caller | null,
  { name, address, segments, query }: Incoming,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (caller !== null && error instanceof Refusal && byCaller.has(error.code)) {
      await deps.limiter.take('refusedPerCredential', credentialOf(caller));
      const call: Call = calls[name];
      const projectId = query.project ?? (call.path.startsWith('/api/projects/') ? segments.id : undefined);
      await auditRefusedCall(deps, { name, call, caller, refusal: error, projectId, address, nowMs: deps.clock() });
    }
    throw error;
  }
}

/** Takes from the limits of permitted calls. */
async function takePermitted({ limiter }: DispatchDeps, caller: Caller, { method }: Call): Promise<void> {
  await limiter.take('apiPerUser', userShare(caller));
  if (isUnsafe(method)) await takeAllowance(limiter, 'change', caller);
}

export async function dispatch(deps: DispatchDeps, handlers: Handlers, incoming: Incoming): Promise<Response> {
  const { name, request, address, segments, query } = incoming;
  const call: Call = calls[name];
  if (isForeign(deps.origin, call, request)) refuse('forbidden', 'This request came from another site.');
  refuseOddSegments(segments);
  const sender = await identify(deps, incoming);
  if (sender) incoming.onKnown({ user: sender.userId });
  return countRefused(deps, sender, incoming, async () => {
    const allowed = await permit(deps.store.db, call, sender, { segments, query });
    if (allowed) incoming.onKnown({ project: allowed.id });
    if (sender) await takePermitted(deps, sender, call);
    const body = await readBody(request, call);
    const nowMs = deps.clock();
    // A body may take a minute to arrive: the caller may have lost a session or a role since.
    const caller = body === undefined ? sender : await findCaller(deps, request.headers, nowMs);
    const membership = body === undefined ? allowed : await permit(deps.store.db, call, caller, { segments, query });
    const context = { request, segments, query, body, caller, membership, address, nowMs };
    const handle = handlers[name] as (context: CallContext) => Promise<unknown>;
    return answerOf(await handle(context as unknown as CallContext));
  });
}
