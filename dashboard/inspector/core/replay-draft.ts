// The form of "Edit and replay", and the request that it makes. What the person did not change is left out, so it stays byte for byte.
import type { Exchange, ReplayRequest, ShownHeader } from '@underpass/rules/inspect/exchange.ts';

export interface DraftHeader {
  readonly key: number;
  readonly name: string;
  readonly value: string;
  /** The value is hidden: an empty text keeps it. */
  readonly isHidden: boolean;
}

export interface ReplayDraft {
  readonly method: string;
  readonly target: string;
  /** Empty: to the upstream. */
  readonly to: string;
  readonly headers: readonly DraftHeader[];
  /** Null if the body is no text, and stays as it was. */
  readonly body: string | null;
}

export function draftOf({ method, target, request }: Exchange): ReplayDraft {
  const { body } = request;
  return {
    method,
    target,
    to: '',
    headers: request.headers.map(([name, value], key) => ({ key, name, value: value ?? '', isHidden: value === null })),
    body: body.shape === 'none' ? '' : body.isCut ? null : body.text,
  };
}

export function requestOf(draft: ReplayDraft, exchange: Exchange): ReplayRequest {
  const before = draftOf(exchange);
  const headers = draft.headers.filter(({ name }) => name.trim() !== '').map(headerOf);
  return {
    ...(draft.method === before.method ? {} : { method: draft.method.trim() }),
    ...(draft.target === before.target ? {} : { target: draft.target.trim() }),
    ...(draft.to.trim() === '' ? {} : { to: draft.to.trim() }),
    ...(isSame(headers, exchange.request.headers) ? {} : { headers }),
    ...(draft.body === null || draft.body === before.body ? {} : { body: { text: draft.body } }),
  };
}

const headerOf = ({ name, value, isHidden }: DraftHeader): ShownHeader => [name.trim(), isHidden && value === '' ? null : value];

const isSame = (a: readonly ShownHeader[], b: readonly ShownHeader[]): boolean =>
  a.length === b.length && a.every(([name, value], at) => name === b[at]?.[0] && value === b[at]?.[1]);
