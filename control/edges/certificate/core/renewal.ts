// When a certificate is renewed: at two thirds of its life, or when its authority says (RFC 9773, ARI). Pure.

export interface Lifetime {
  readonly startsAt: number;
  readonly expiresAt: number;
}

export interface RenewalWindow {
  readonly startMs: number;
  readonly endMs: number;
}

/** FNV-1a: spreads names over the window, and gives every control process the same moment. */
function fractionOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return hash / 2 ** 32;
}

/** RFC 9773 4.2 asks for a random moment of the window. */
export const momentIn = ({ startMs, endMs }: RenewalWindow, name: string): number =>
  startMs + Math.floor((endMs - startMs) * fractionOf(name));

/** A third of the life is left to find out that something is wrong. */
const usualMoment = ({ startsAt, expiresAt }: Lifetime): number => startsAt + Math.floor(((expiresAt - startsAt) * 2) / 3);

/** The last sixth of the life (two weeks of 90 days, a day of six) is for renewing, whatever an authority advises. */
export const isRunningOut = ({ startsAt, expiresAt }: Lifetime, nowMs: number): boolean =>
  nowMs >= expiresAt - Math.floor((expiresAt - startsAt) / 6);

/** `advised`: the moment that the authority wants; undefined if it gives no advice. */
export const isDue = (life: Lifetime, advised: number | undefined, nowMs: number): boolean =>
  nowMs >= (advised ?? usualMoment(life)) || isRunningOut(life, nowMs);
