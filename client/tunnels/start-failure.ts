// When a tunnel that must start does not: a person must act, or the time is over. A client that goes on trying does without this.

import { CarryError, type ProblemCode, problems } from '../carry/problem.ts';
import { ClientError } from '../process/error.ts';
import type { EventWatch, Readiness } from './readiness.ts';

const startMs = 30_000;

/** Problems that stay until a person acts. */
const lasting: ReadonlySet<string> = new Set<ProblemCode>([
  ...([
    'token-refused',
    'tunnel-suspended',
    'wrong-type',
    'tunnel-private',
    'tunnel-public',
    'version',
    'not-underpass',
  ] as const),
  ...(['certificate-unknown', 'certificate-name', 'certificate-expired', 'proxy-refused'] as const),
]);

/** Calls `onFailed` at most once. End it when the tunnel is ready. */
export function watchFailure({ isNew = false }: Readiness, onFailed: (error: ClientError) => void): EventWatch {
  let last: ClientError | undefined;
  let isOver = false;
  const end = (): void => {
    isOver = true;
    clearTimeout(timer);
  };
  const fail = (error: ClientError): void => {
    if (isOver) return;
    end();
    onFailed(error);
  };
  const late = () => fail(last ?? new ClientError('not-ready', `no answer within ${startMs / 1000} s`));
  const timer = setTimeout(late, startMs);
  return {
    onEvent({ event, code, text = '' }) {
      if (event !== 'problem' || code === undefined) return;
      last = explained(code as ProblemCode, text);
      if (lasting.has(code) && !(isNew && code === 'token-refused')) fail(last);
    },
    end,
  };
}

/** The event's text is `title: detail. fix`, and its fix may end with what a client does that goes on. */
function explained(code: ProblemCode, text: string): ClientError {
  const { title, fix } = problems[code];
  const cause = new CarryError(code, text.slice(title.length, -fix.length).replace(/^: |\. $/g, ''));
  const first = fix.replace(/ ?(The client|This one) keeps trying\.$/, '');
  return new ClientError('not-ready', cause.message, { cause, ...(first === '' ? {} : { fix: first }) });
}
