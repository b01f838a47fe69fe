// When a certificate is renewed where its authority says when (RFC 9773, ARI). Pure.

import { isDue, type Lifetime } from './lifetime.ts';

export interface RenewalWindow {
  readonly startMs: number;
  readonly endMs: number;
}

/** FNV-1a: spreads names over the window, and every control process comes to the same moment. */
const fractionOf = (text: string): number => {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return hash / 2 ** 32;
};

/** RFC 9773 4.2 asks for a random moment of the window. */
export const momentIn = ({ startMs, endMs }: RenewalWindow, name: string): number =>
  startMs + Math.floor((endMs - startMs) * fractionOf(name));

/** Whatever an authority says, the last sixth of the life is for renewing. */
const latest = ({ startsAt, expiresAt }: Lifetime): number => expiresAt - Math.floor((expiresAt - startsAt) / 6);

export const isDueBy = (life: Lifetime, moment: number | undefined, nowMs: number): boolean =>
  moment === undefined ? isDue(life, nowMs) : nowMs >= Math.min(moment, latest(life));
